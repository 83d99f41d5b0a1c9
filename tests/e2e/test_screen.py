# SPDX-License-Identifier: GPL-2.0-only
"""The boot image on machines with a screen: what is to be seen there, and what keys do."""

import os
import pathlib
import re
import struct
import time

import pytest

from tests.e2e.conftest import BUILD
from tests.e2e.screen import Machine, make_image

OVMF = "/usr/share/ovmf/OVMF.fd"


@pytest.fixture(scope="module", name="image")
def image_of_all(tmp_path_factory):
    """What `make iso` makes."""
    return make_image(tmp_path_factory.mktemp("iso") / "fairground.iso", BUILD, "interactive", alone=True)


def shell_at_once(machine):
    """Ends the demonstration; the screen then, on which no error is."""
    machine.wait_for("1. Four processes.*")
    machine.press("spc")
    lines = machine.wait_for("fairground:~#")
    assert "Any key gives a shell at once." in lines and not any("error:" in line for line in lines), lines


def answer(machine, command):
    """The lines between @command, typed, and the next prompt."""
    machine.type(f"clear; {command}\n")
    lines = machine.wait_for("fairground:~#")
    return lines[:lines.index("fairground:~#")]


def test_screen_and_keyboard(tmp_path, image):
    """A machine like that of `qemu-system-x86_64 -cdrom`, but without a serial line."""
    with Machine(tmp_path, "-smp", "4", "-serial", "none", "-cdrom", image) as machine:
        shell_at_once(machine)
        assert answer(machine, "nproc; stty size") == ["4", "48 128"]
        assert answer(machine, "echo '{Ab}~!@#%^&*()_+|:<>?' \"\\`[];,./-=\"") == ["{Ab}~!@#%^&*()_+|:<>? `[];,./-="]
        machine.type("clear; sleep 1000\n")
        machine.wait_for("")
        machine.press("ctrl", "c")
        machine.wait_for(r"\^C")
        machine.type("echo $?\n")
        machine.wait_for("130")
        machine.press("caps_lock")
        machine.type("x=1")
        machine.press("caps_lock")
        machine.type("\necho b$X\n")
        machine.wait_for("b1")
        machine.press("up")
        machine.press("left")
        machine.type("c")
        machine.press("home")
        machine.press("delete")
        machine.type("e\n")
        machine.wait_for("b")


def test_programs_draw_on_the_screen(tmp_path, image):
    """Scrolling, cursor, colours, characters beyond ASCII, and a line longer than the screen."""
    with Machine(tmp_path, "-smp", "1", "-cdrom", image) as machine:
        shell_at_once(machine)
        assert answer(machine, "seq 200") == [str(n) for n in range(154, 201)]
        assert answer(machine, r"printf '\033[3;5Hx\033[Ay\n\n\n'")[1:3] == ["     y", "    x"]
        assert answer(machine, r"printf '%0130d\303\251\342\224\202\n' 0") == ["0" * 128, "00é│"]
        answer(machine, r"printf '\033[31;44m#\033[m#\n'")
        picture = machine.picture()
        colours = [{picture.dot(x, y) for x in range(8 * cell, 8 * cell + 8) for y in range(16)} for cell in (0, 1)]
        assert colours == [{b"\xaa\0\0", b"\x30\x50\xd0"}, {b"\xc0\xc0\xc0", b"\0\0\0"}]
        machine.type("exit\n")
        machine.process.wait(60)  # off


@pytest.mark.nightly("a machine with UEFI: its screen, its memory map, its CPUs; a USB stick")
@pytest.mark.parametrize("words", [
    ["-bios", OVMF, "-cdrom", "{}"],
    ["-machine", "q35", "-bios", OVMF, "-drive", "if=none,id=u,format=raw,readonly=on,file={}", "-device", "qemu-xhci",
     "-device", "usb-storage,drive=u"],
    ["-drive", "if=none,id=u,format=raw,readonly=on,file={}", "-device", "qemu-xhci", "-device",
     "usb-storage,drive=u"],
], ids=["uefi", "uefi-usb", "usb"])
def test_other_ways(tmp_path, image, words):
    with Machine(tmp_path, "-smp", "4", "-m", "256", *(word.format(image) for word in words)) as machine:
        shell_at_once(machine)
        assert answer(machine, "nproc") == ["4"]


@pytest.mark.nightly("a screen in text mode; a machine without a keyboard controller")
def test_text_mode_and_no_keyboard(tmp_path):
    """A header that asks for no graphics keeps GRUB from finding them."""
    wish, other = (struct.pack("<2H4I", kind, 1, 20, 1024, 768, 32) for kind in (5, 0x7f))
    kernel = pathlib.Path(BUILD, "fairground.elf").read_bytes()
    assert kernel.count(wish) == 1
    (tmp_path / "text.elf").write_bytes(kernel.replace(wish, other))
    image = make_image(tmp_path / "text.iso", BUILD, "selftest=kernel_mappings*", kernel=tmp_path / "text.elf")

    def text():
        dump = machine.monitor("human-monitor-command", **{"command-line": "xp /2000hx 0xb8000"}) or ""
        cells = [int(word, 16) & 0xff for line in dump.splitlines() for word in line.split(":")[1].split()]
        screen = bytes(cells).decode("ascii", "replace")
        return screen if "exit status" in screen else None
    with Machine(tmp_path, "-machine", "q35,i8042=off", "-serial", "none", "-no-shutdown", "-cdrom", image) as machine:
        screen = machine.until(text, "the end of the run")
    assert re.search(r"ok 1 kernel_mappings_are_write_xor_execute", screen) and "exit status 0" in screen, screen


@pytest.mark.nightly("a machine that has neither screen nor serial line")
def test_nothing_to_write_to(tmp_path):
    image = make_image(tmp_path / "blind.iso", BUILD)
    log = tmp_path / "log"
    with Machine(tmp_path, "-vga", "none", "-serial", "none", "-debugcon", f"file:{log}", "-cdrom", image) as machine:
        machine.until(lambda: os.path.exists(log) and "initramfs: " in log.read_text(), "the kernel's log")


@pytest.mark.nightly("a panic that nobody can read, because the machine is off")
def test_a_panic_stays_on_the_screen(tmp_path, image):
    with Machine(tmp_path, "-smp", "2", "-serial", "none", "-cdrom", image) as machine:
        shell_at_once(machine)
        machine.type("clear; echo c > /proc/sysrq-trigger\n")
        machine.wait_for(r" >R +swapper/[01] .*")  # of the runqueues that a panic shows last
        machine.wait_for(r"\[ *[\d.]+\] panic: crash asked for \(sysrq c\)")
        assert [line for line in machine.lines() if line][-1].endswith("] panic: crash asked for (sysrq c)")
        time.sleep(1)
        assert machine.process.poll() is None
