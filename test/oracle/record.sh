#!/usr/bin/env bash
# Records the traces of expected/ again on real Apache Spark 4.3.0.
#   test/oracle/record.sh [SCENARIO-OR-PREFIX …]
# Needs Java 17 and an interpreter with pyspark[connect]==4.3.0 in $PYTHON
# (default .venv/bin/python, which `make venv` makes). Read the diff.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
port=${PORT:-15902}
work=$(mktemp -d)
trap 'kill "$(cat "$work/server.pid" 2>/dev/null)" 2>/dev/null || true; rm -rf "$work"' EXIT
"$here/record_server.sh" "$port" "$python" "$work"
"$python" "$here/run.py" --remote "sc://127.0.0.1:$port" --out "$here/expected" --work "$work/scratch" "$@"
