# SPDX-License-Identifier: GPL-2.0-only
# A container image with everything that `make run` and `make sim` need, built and ready:
#
#	podman build -t fairground .       (or: docker build -t fairground .)
#	podman run --rm -it fairground     boots four CPUs
#	podman run --rm -it fairground sh  a shell, for build/schedsim or make
#
# Without a registry any Debian 12 serves as its base: --build-arg BASE=NAME.
ARG BASE=docker.io/library/debian:12-slim
FROM $BASE
# Half of GCC is for other work than ours here: optimisation at the link, sanitizers, profiles.
RUN for file in '/usr/lib/gcc/*/lto1' '/usr/bin/*lto-dump*' '/usr/bin/*-gold' '/usr/bin/*-dwp' '/usr/lib/*/lib[alt]san*' \
		'/usr/lib/gcc/*/lib[alt]san*' '/usr/lib/*/gprofng/*' '/usr/lib/*/libgprofng*' '/usr/share/doc/*' '/usr/share/man/*' \
		'/usr/share/locale/*'; do echo "path-exclude=$file"; done >/etc/dpkg/dpkg.cfg.d/fairground
WORKDIR /fairground
COPY tools/setup.sh tools/other-systems.txt tools/
RUN sh tools/setup.sh && apt-get clean && rm -rf /var/lib/apt/lists/*
COPY . .
RUN make -j2 image sim
CMD ["make", "run"]
