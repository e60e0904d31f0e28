#!/usr/bin/env bash
# Runs random programs on Apache Spark 4.3 and on weir and compares what they leave.
#   FIRST=1000 COUNT=200 test/oracle/nightly.sh [FOLDER]
# A program that differs is worth keeping: its two traces stay in FOLDER (default: a new
# one). Needs Java 17 and an interpreter with pyspark[connect]==4.3.0 in $PYTHON.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
python=${PYTHON:-$root/.venv/bin/python}
folder=${1:-$(mktemp -d)}
export FIRST=${FIRST:-$(( $(date +%s) / 86400 * 200 ))} COUNT=${COUNT:-200} PYTHONDONTWRITEBYTECODE=1
trap 'kill "$(cat "$folder/spark/server.pid" 2>/dev/null)" "${weir:-}" 2>/dev/null || true' EXIT
mkdir -p "$folder"
"$here/record_server.sh" 15903 "$python" "$folder/spark"
(cd "$root" && go build -o "$folder/weir" ./cmd/weir)
PYSPARK_PYTHON=$python "$folder/weir" serve --dir "$folder/data" --grpc 127.0.0.1:15904 --http 127.0.0.1:0 \
	--conf spark.sql.session.timeZone=UTC > "$folder/weir.log" 2>&1 &
weir=$!
until grep -q '^weir ready' "$folder/weir.log"; do kill -0 "$weir"; sleep 0.1; done
run() { "$python" "$here/run.py" --scenarios "$here/random" --work "$folder/work" --timeout 250 "$@" > "$folder/run.log" || true; }
run --remote sc://127.0.0.1:15903 --out "$folder/spark-traces" --jobs 2
run --remote sc://127.0.0.1:15904 --out "$folder/weir-traces" --jobs 3
echo "programs $FIRST to $((FIRST + COUNT - 1)), traces in $folder"
"$python" "$here/compare.py" "$folder/spark-traces" "$folder/weir-traces"
