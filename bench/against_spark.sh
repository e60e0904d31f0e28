#!/usr/bin/env bash
# The same files through weir and through Apache Spark 4.3, in rows per
# CPU-second of the server's process tree.
#   bench/against_spark.sh
# Needs Java 17 and `make venv`. Spark runs with 2 shuffle partitions on both
# cores; two warm-up runs in the same JVM come before the one that counts.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
work=$(mktemp -d)
weir_pid=
cleanup() {
  [ -n "$weir_pid" ] && kill "$weir_pid" 2>/dev/null || true
  [ -f "$work/server.pid" ] && kill "$(cat "$work/server.pid")" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

(cd "$root" && go build -o "$work/weir" ./cmd/weir)
"$work/weir" serve --dir "$work/data" --grpc 127.0.0.1:15931 --http 127.0.0.1:0 > "$work/weir.out" &
weir_pid=$!
until grep -q ready "$work/weir.out"; do sleep 0.1; done
echo "weir:"
"$python" "$root/bench/against_spark.py" --remote sc://localhost:15931 --pid "$weir_pid"

"$root/test/oracle/record_server.sh" 15932 "$python" "$work" > /dev/null
echo "Apache Spark 4.3:"
"$python" "$root/bench/against_spark.py" --remote sc://localhost:15932 --pid "$(cat "$work/server.pid")"
