#!/usr/bin/env bash
# Start real Apache Spark as a Spark Connect server and wait until it listens.
#   record_server.sh PORT [PYTHON] [WORKDIR]
# PYTHON is an interpreter that has pyspark[connect] installed (default:
# python3). The pid is written to WORKDIR/server.pid; stop it with
#   kill "$(cat WORKDIR/server.pid)"
set -euo pipefail
port=${1:?port}
python=$(command -v "${2:-python3}")
work=${3:-${TMPDIR:-/tmp}/oracle-spark-$port}
mkdir -p "$work"

dist=$("$python" -W ignore -c 'import pyspark, os; print(os.path.dirname(pyspark.__file__))')
# A home without the zipped Python sources: workers then import the installed,
# byte-compiled package and start in one or two seconds instead of ten.
SPARK_HOME=$work/home
mkdir -p "$SPARK_HOME/python/lib"
for d in bin sbin jars; do ln -sfn "$dist/$d" "$SPARK_HOME/$d"; done
export SPARK_HOME TZ=UTC PYSPARK_PYTHON=$python PYSPARK_DRIVER_PYTHON=$python
export PYTHONWARNINGS=ignore

cat > "$work/log4j2.properties" <<'L'
rootLogger.level = error
rootLogger.appenderRef.stdout.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex{3}
L

# The default manager starts a process per log file on a plain local disk; this
# one writes the same files without. Set SPARK_CHECKPOINT_MANAGER to override.
fast_manager=org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager

cd "$work"
"$SPARK_HOME/bin/spark-submit" \
  --master 'local[2]' --driver-memory "${SPARK_MEMORY:-3g}" --name oracle \
  --class org.apache.spark.sql.connect.service.SparkConnectServer \
  --driver-java-options "-Duser.timezone=UTC -Dlog4j2.configurationFile=file:$work/log4j2.properties -XX:TieredStopAtLevel=1" \
  --conf spark.connect.grpc.binding.port="$port" \
  --conf spark.sql.session.timeZone=UTC \
  --conf spark.sql.shuffle.partitions=4 \
  --conf spark.sql.catalogImplementation=in-memory \
  --conf spark.sql.warehouse.dir="$work/warehouse" \
  --conf spark.python.authenticate.socketTimeout=60s \
  --conf spark.sql.streaming.checkpointFileManagerClass="${SPARK_CHECKPOINT_MANAGER:-$fast_manager}" \
  --conf spark.ui.enabled=false \
  --conf spark.ui.showConsoleProgress=false \
  spark-internal > "$work/server.log" 2>&1 &
echo $! > "$work/server.pid"
for _ in $(seq 1 240); do
  if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
    echo "Spark Connect server on sc://127.0.0.1:$port (pid $(cat "$work/server.pid"))"
    exit 0
  fi
  kill -0 "$(cat "$work/server.pid")" 2>/dev/null || { echo "server died; see $work/server.log" >&2; exit 1; }
  sleep 0.5
done
echo "server did not answer; see $work/server.log" >&2
exit 1
