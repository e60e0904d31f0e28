"""Uses hostile names for everything that has a name. Each must work and come back
unchanged, or be refused with a condition."""
import json
import os
import sys
import uuid

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
with open(sys.argv[1], encoding="utf-8", newline="") as f:
    names = f.read().split("\n")
names = [n for n in names if n] + ["nul\0byte", "line\nbreak", "x" * 300, "\ud7ff\ufeff", "CON", ".", "..", " "]


def quoted(name):
    return "`" + name.replace("`", "``") + "`"


def table(name):
    full = f"main.default.{quoted(name)}"
    spark.range(1).write.saveAsTable(full)
    rows = spark.table(full).count()
    listed = name.lower() in [t.name.lower() for t in spark.catalog.listTables("main.default")]
    spark.sql(f"DROP TABLE {full}")
    return rows == 1 and listed


def schema(name):
    spark.sql(f"CREATE SCHEMA main.{quoted(name)}")
    spark.sql(f"CREATE TABLE main.{quoted(name)}.t AS SELECT 1 AS id")
    rows = spark.table(f"main.{quoted(name)}.t").count()
    spark.sql(f"DROP SCHEMA main.{quoted(name)} CASCADE")
    return rows == 1


def volume(name):
    full = f"main.default.{quoted(name)}"
    spark.sql(f"CREATE VOLUME {full}")
    spark.range(1).write.mode("overwrite").json(f"/Volumes/main/default/{name}/out")
    spark.sql(f"DROP VOLUME {full}")
    return True


def view(name):
    spark.range(1).createOrReplaceTempView(quoted(name))
    return spark.table(quoted(name)).count() == 1


def column(name):
    frame = spark.range(1).toDF(name)
    return frame.columns == [name] and frame.select(frame[quoted(name)]).collect()[0][0] == 0


def column_of_table(name):
    full = "main.default.c" + uuid.uuid4().hex
    spark.range(1).toDF(name).write.saveAsTable(full)
    same = spark.table(full).columns == [name] and spark.table(full).collect()[0][0] == 0
    spark.sql(f"DROP TABLE {full}")
    return same


def query(name):
    q = spark.readStream.format("rate").load().writeStream.queryName(name).format("noop").start()
    same = q.name == name and name in [o.name for o in spark.streams.active]
    q.stop()
    return same


def memory(name):
    q = spark.readStream.format("rate").load().writeStream.queryName(name).format("memory").start()
    q.stop()
    return True


def conf(name):
    spark.conf.set(name, name)
    return spark.conf.get(name) == name


def tag(name):
    spark.addTag(name)
    spark.removeTag(name)
    return True


def function(name):
    return spark.sql(f"SELECT {quoted(name)}(1)").collect()


def path(name):
    root = os.path.join(os.environ["WORKDIR"], uuid.uuid4().hex)
    spark.range(1).write.parquet(os.path.join(root, name.replace("/", "_")))
    return spark.read.parquet(os.path.join(root, name.replace("/", "_"))).count() == 1


for use in (table, schema, volume, view, column, column_of_table, query, memory, conf, tag, function, path):
    for name in names:
        said = {"use": use.__name__, "name": name, "answer": None, "condition": None, "error": None}
        try:
            said["answer"] = use(name) is True
        except PySparkException as e:
            said["condition"], said["error"] = e.getCondition(), f"{type(e).__name__}: {e}"[:300]
        except Exception as e:
            said["error"] = f"{type(e).__name__}: {e}"[:300]
        print(json.dumps(said), flush=True)
