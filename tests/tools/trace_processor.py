# SPDX-License-Identifier: GPL-2.0-only
"""Ask Perfetto's own trace processor about a trace: SQL in, rows out. It runs under Node, without a network."""

import pathlib
import subprocess

# The optimizing compiler of Node takes longer for this large program than the program for a small trace.
FLAGS = ["--liftoff-only"]
HERE = pathlib.Path(__file__).resolve().parent


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


class TraceProcessor:
    """The trace in the file @path, read by the program in @directory, the web page of Perfetto.

    @protos: perfetto.trace_processor.protos.ProtoFactory and perfetto.common.query_result_iterator, as the package
    perfetto has them."""

    def __init__(self, path, directory, protos, iterator):
        self._protos, self._iterator, self._sequence = protos, iterator, 0
        self._node = subprocess.Popen(["node", *FLAGS, HERE / "trace_processor.js", directory], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE)
        methods = protos.TraceProcessorRpc.DESCRIPTOR.enum_types_by_name["TraceProcessorMethod"].values_by_name
        self._method = {name: value.number for name, value in methods.items()}
        data = pathlib.Path(path).read_bytes()
        for at in range(0, len(data), 1 << 20):
            reply = self._ask("TPM_APPEND_TRACE_DATA", append_trace_data=data[at:at + (1 << 20)])
            assert not reply.append_result.error, reply.append_result.error
        self._ask("TPM_FINALIZE_TRACE_DATA")

    def _ask(self, method, **fields):
        self._sequence += 1
        request = self._protos.TraceProcessorRpc(seq=self._sequence, request=self._method[method], **fields)
        self._node.stdin.write(self._protos.TraceProcessorRpcStream(msg=[request]).SerializeToString())
        self._node.stdin.flush()
        return self._reply()

    def _reply(self):
        read = self._node.stdout.read
        assert read(1) == b"\x0a", "the trace processor has ended"  # the field msg of the stream
        size = shift = 0
        while True:
            byte = read(1)[0]
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        reply = self._protos.TraceProcessorRpc()
        reply.ParseFromString(read(size))
        assert not reply.fatal_error, reply.fatal_error
        return reply

    def query(self, sql):
        """The rows of the answer to @sql, as tuples."""
        replies = [self._ask("TPM_QUERY_STREAMING", query_args={"sql_query": sql})]
        while not replies[-1].query_result.batch or not replies[-1].query_result.batch[-1].is_last_batch:
            replies.append(self._reply())
        result = [reply.query_result for reply in replies]
        assert not any(each.error for each in result), result[-1].error
        names = list(result[0].column_names)
        batches = [batch for each in result for batch in each.batch]
        rows = self._iterator(names, batches)
        return [tuple(getattr(row, name) for name in names) for row in rows]

    def close(self):
        self._node.kill()
        self._node.wait()
