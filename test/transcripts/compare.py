"""Compares a program's recording on a server with the one on Spark.

    python compare.py RECORDED.json OBSERVED.json

Exit code 1 on a difference that deviations.json does not allow.
"""
import ast
import difflib
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def parameters(match):
    """A printed dict with its keys in order and without prose."""
    try:
        d = ast.literal_eval(match.group(0))
    except (ValueError, SyntaxError):
        return match.group(0)
    if not isinstance(d, dict):
        return match.group(0)
    return str({k: "…" if k in ("msg", "message") else d[k] for k in sorted(d)})


NUMBERS = "batchDuration|triggerExecution|queryPlanning|getBatch|commitOffsets|latestOffset|addBatch|walCommit"
MASKS = [
    (re.compile(r"<uuid:\d+>"), "<uuid>"),
    (re.compile(rf'"({NUMBERS}|\w+RowsPerSecond)": [\d.E-]+'), r'"\1": <number>'),
    (re.compile(r"\$Lambda(\$\d+/0x[0-9a-f]+)?@"), "$Lambda@"),
    # A sentence ends with its line, or with the state that follows it.
    (re.compile(r"[\"']?(\[[A-Z][A-Z_]+(?:\.[A-Z_]+)?\]) .*"), r"\1 …"),
    # Progress reports come when they come.
    (re.compile(r"'execution_progress', |, 'execution_progress'"), ""),
    (re.compile(r"^(\w+Exception) (?!\(|None|[A-Z_]+(\.[A-Z_]+)? [0-9A-Z]{5} )[^\[]*$"), r"\1 …"),
    (re.compile(r"^(\w+: \w+(?:Exception|Input) .*\}) \| .*"), r"\1 | …"),
    (re.compile(r"\{'[^{}]*\}"), parameters),
]


def printed(lines):
    """The lines of a program without what every run does differently, and without plans."""
    out, in_plan = [], False
    for line in lines:
        if re.match(r"== .* ==$", line):
            in_plan = True
            continue
        if in_plan and line:
            continue
        in_plan = False
        for pattern, mask in MASKS:
            line = pattern.sub(mask, line)
        out.append(line)
    return out


def differences(what, want, got, deviations):
    """A unified diff without empty lines and those that may differ."""
    patterns = [re.compile(d["line"]) for d in deviations if d["in"] == what]
    keep = [[line for line in lines if line and not any(p.search(line) for p in patterns)] for lines in (want, got)]
    return list(difflib.unified_diff(*keep, f"{what} on Spark", f"{what} observed", lineterm="", n=1))


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def main(recorded, observed):
    known, want, got = load(os.path.join(HERE, "deviations.json")), load(recorded), load(observed)
    deviations = known["*"] + known.get(os.path.basename(recorded).removesuffix(".json"), [])
    found = differences("printed", printed(want["stdout"]), printed(got["stdout"]), deviations)
    found += differences("calls", want["calls"], got["calls"], deviations)
    if want["exit_code"] != got["exit_code"]:
        found.append(f"exit code {got['exit_code']}, want {want['exit_code']}")
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
