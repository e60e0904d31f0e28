"""Runs a program against a Spark Connect server and writes down what it printed and called.

    python record.py HOST:PORT OUT.json PROGRAM.py

The Python that runs this file also runs the program; it needs pyspark[connect]. REMOTE_PARAMS is
put behind the address, SERVER_NAME says what the server is.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import pyspark
import pyspark.sql.connect.proto.base_pb2 as base
from google.rpc import error_details_pb2, status_pb2

from tap import Tap

PATIENCE = 90  # seconds
QUIET = {"execution_progress", "metrics"}  # they come when they come
ENVELOPE = {
    "session_id", "server_side_session_id", "operation_id", "response_id", "user_context", "client_type",
    "request_options", "client_observed_server_side_session_id", "tags",
}


def fields(message, without=frozenset()):
    return [f.name for f, _ in message.ListFields() if f.name not in without]


def kind(request):
    """What a request asks for, in a word or two."""
    if "plan" in fields(request):
        side = request.plan.WhichOneof("op_type")
        body = getattr(request.plan, side)
        name = fields(body, {"common"})[0]
        if name.startswith("streaming_query"):
            name += ":" + ",".join(fields(getattr(body, name), {"query_id"}))
        return f"{side} {name}"
    if "operation" in fields(request):
        name = request.operation.WhichOneof("op_type")
        body = getattr(request.operation, name)
        keys = list(getattr(body, "keys", [])) + [p.key for p in getattr(body, "pairs", [])]
        return f"{name} " + ",".join(keys)
    return ",".join(fields(request, ENVELOPE)) or "-"


def failure(code, trailers):
    """The code of an end with the condition and the class; nothing when all went well."""
    if code == "OK":
        return ""
    info = error_details_pb2.ErrorInfo()
    for detail in status_pb2.Status.FromString(dict(trailers).get("grpc-status-details-bin", b"")).details:
        if detail.Is(info.DESCRIPTOR):
            detail.Unpack(info)
    return f"{code} {info.metadata.get('errorClass')} {info.reason or None}"


def calls(events):
    """One line for each call with what came back. What attaches again belongs to its operation,
    what lets go of one to none."""
    streams, operations, order = {}, {}, []
    for stream, rpc, what, value in events:
        if rpc in ("ReleaseExecute", "GetStatus"):
            continue
        name = "ExecutePlan" if rpc == "ReattachExecute" else rpc
        if what == "request":
            requested = {"ArtifactStatus": "ArtifactStatuses"}.get(rpc, rpc)
            message = getattr(base, requested + "Request").FromString(value)
            operation = getattr(message, "operation_id", "")
            if rpc == "ReattachExecute" and operation in operations:
                streams[stream] = operations[operation]
            elif stream not in streams:  # else a further message of the same stream
                call = {"call": f"{rpc} {kind(message)}", "answers": [], "end": ""}
                streams[stream] = operations[operation] = call
                order.append(call)
        elif what == "response":
            answered = {"ArtifactStatus": "ArtifactStatuses"}.get(name, name)
            message = getattr(base, answered + "Response").FromString(value)
            answers = streams[stream]["answers"]
            for field in fields(message, ENVELOPE) or ["-"]:
                if field not in QUIET and answers[-1:] != [field]:
                    answers.append(field)
        elif value[0] == "CANCELLED" and streams[stream]["answers"][-1:] == ["result_complete"]:
            continue  # a client may let go of an answer as soon as it is whole
        elif value[0] != "OK":
            streams[stream]["end"] = failure(value[0], value[2])
    return [f"{c['call']} => {' > '.join(c['answers'])} {c['end']}".rstrip() for c in order]


class Masker:
    """Replaces what every run does differently: ids by their number, times, paths, ports."""

    ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
    MASKS = [
        (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(Z?)"),
         lambda m: m.group(0) if m.group(0)[:4] < "2025" else f"<ts{m.group(1)}>"),
        (re.compile(r"#\d+(L?)"), r"#n\1"),
        (re.compile(r"plan_id=\d+"), "plan_id=n"),
        (re.compile(r"@[0-9a-f]{6,8}\b"), "@hash"),
        (re.compile(r"(127\.0\.0\.1|localhost)([:/])\d{4,5}"), r"\1:<port>"),
    ]

    def __init__(self, paths):
        self.paths, self.seen = paths, {}

    def mask(self, line):
        line = self.ID.sub(lambda m: "<uuid:%d>" % self.seen.setdefault(m.group(0), len(self.seen) + 1), line)
        for real, shown in self.paths:
            line = line.replace(real, shown)
        for pattern, shown in self.MASKS:
            line = pattern.sub(shown, line)
        return line


def main(upstream, out, program):
    tap = Tap(upstream)
    with tempfile.TemporaryDirectory(prefix="transcript-") as work:
        env = dict(os.environ, WORKDIR=work, PYTHONUNBUFFERED="1", TQDM_DISABLE="1",
                   SPARK_REMOTE=f"sc://127.0.0.1:{tap.port}" + os.environ.get("REMOTE_PARAMS", ""))
        run = subprocess.Popen([sys.executable, os.path.abspath(program)], env=env, cwd=work, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            stdout, stderr = run.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            run.kill()
            stdout, stderr = run.communicate()
        masker = Masker([(work, "<workdir>"), (os.path.dirname(os.path.abspath(program)), "<programs>")])
    time.sleep(0.5)  # for what is let go of last
    tap.stop()
    version = "%d.%d" % sys.version_info[:2]
    transcript = {
        "client": f"pyspark {pyspark.__version__} (python {version})",
        "server": os.environ.get("SERVER_NAME", upstream),
        "exit_code": run.returncode,
        "stdout": [masker.mask(line) for line in stdout.splitlines()],
        "calls": calls(tap.events),
    }
    with open(out, "w", encoding="utf-8") as f:
        json.dump(transcript, f, ensure_ascii=False, indent=1)
        f.write("\n")
    if run.returncode:
        print(stderr[-2000:], file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
