"""A foreachBatch whose function fails behind its writes: with weir.foreachBatch.idempotent each write is made once."""
import json, os, sys

from pyspark.sql import SparkSession

remote, folder, idempotent = sys.argv[1:4]
spark = SparkSession.builder.remote(remote).getOrCreate()
source, table, log, checkpoint = (os.path.join(folder, name) for name in ("in", "table", "log", "ck"))
os.makedirs(source)
for n in range(2):
    with open(os.path.join(source, f"{n}.json"), "w") as f:
        f.write("".join(json.dumps({"id": i, "v": 10 ** n}) + "\n" for i in range(3)))
    os.utime(os.path.join(source, f"{n}.json"), (1_700_000_000 + n, 1_700_000_000 + n))
spark.sql(f"create table delta.`{table}` (id long, v long) using delta")
spark.sql(f"insert into delta.`{table}` values (0, 0), (1, 0)")


def batch(frame, number):
    frame.createOrReplaceTempView("rows")
    sql = frame.sparkSession.sql
    sql(f"merge into delta.`{table}` t using rows s on t.id = s.id "
        "when matched then update set v = t.v + s.v when not matched then insert *")
    frame.write.format("delta").mode("append").save(log)
    sql(f"update delta.`{table}` set v = v + 1000 where id = 0")
    marker = os.path.join(folder, f"failed-{number}")
    if not os.path.exists(marker):
        open(marker, "w").close()
        raise RuntimeError("behind the writes")


def run():
    query = (spark.readStream.schema("id long, v long").option("maxFilesPerTrigger", 1).json(source).writeStream
             .foreachBatch(batch).option("checkpointLocation", checkpoint)
             .option("weir.foreachBatch.idempotent", idempotent).trigger(availableNow=True).start())
    try:
        query.awaitTermination()
    except Exception:
        return False
    return True


runs = 1
while not run():
    runs += 1
rows = sorted(tuple(r) for r in spark.read.format("delta").load(table).collect())
logged = spark.read.format("delta").load(log).count()
print(json.dumps([runs, rows, logged]))
