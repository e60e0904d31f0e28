"""Makes the tables of morezoo with Apache Spark 4.2.0 and Delta Lake 4.4.0.

    python morezoo.py DIR PORT

PORT is that of a Spark Connect server with Delta. DIR/NAME is a table, DIR/morezoo.json
has schema and rows of each version, as zoo.json does.
"""
import json
import os
import sys

from pyspark.sql import SparkSession


def type_widening(s, T):
    s(f"create table {T} (id int, b byte, f float, d decimal(4,2), st struct<x:short>, dt date, a array<byte>, p short) "
      "using delta partitioned by (p) tblproperties ('delta.enableTypeWidening' = 'true', "
      "'delta.feature.timestampNtz' = 'supported')")
    s(f"insert into {T} values (1, 1Y, 1.5F, 1.25, struct(1S), date'2024-01-01', array(1Y), 1S)")
    for column, kind in (("id", "long"), ("b", "int"), ("f", "double"), ("d", "decimal(10,3)"), ("st.x", "int"),
                         ("a.element", "int"), ("p", "int"), ("dt", "timestamp_ntz")):
        s(f"alter table {T} alter column {column} type {kind}")
    s(f"insert into {T} values (5000000000, 70000, 1e300D, 1234567.125, struct(70000), "
      "timestamp_ntz'2024-02-03 04:05:06', array(70000), 70000)")
    s(f"alter table {T} alter column b type double")


def mapped_later(s, T):
    s(f"create table {T} (id int, m map<string, struct<v:int>>, l array<struct<w:int, s:struct<z:string>>>, k int) "
      "using delta partitioned by (k)")
    s(f"insert into {T} values (1, map('a', struct(1)), array(struct(1, struct('x'))), 1)")
    s(f"alter table {T} set tblproperties ('delta.columnMapping.mode' = 'name')")
    for old, new in (("m.value.v", "vv"), ("l.element.w", "ww"), ("l.element.s.z", "zz"), ("k", "kk")):
        s(f"alter table {T} rename column {old} to {new}")
    s(f"insert into {T} values (2, map('b', struct(2)), array(struct(2, struct('y')), null), 2), (3, null, null, null)")


def v2_parquet(s, T):
    s("set spark.databricks.delta.checkpointV2.topLevelFileFormat = parquet")
    s(f"create table {T} (id int) using delta "
      "tblproperties ('delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '2')")
    for i in range(3):
        s(f"insert into {T} values ({i})")
    s("reset spark.databricks.delta.checkpointV2.topLevelFileFormat")


def mapped_vectors(s, T):
    s(f"create table {T} (id long, s string) using delta tblproperties "
      "('delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'true', "
      "'delta.enableChangeDataFeed' = 'true', 'delta.checkpointInterval' = '4')")
    s(f"insert into {T} select /*+ coalesce(1) */ id, concat('s', id) from range(3000)")
    s(f"alter table {T} rename column s to t")
    s(f"delete from {T} where id in (5, 1023, 1024, 2999)")
    s(f"update {T} set t = 'u' where id = 3")
    s(f"delete from {T} where id = 4")
    s(f"delete from {T} where id between 10 and 2990")


def lines(df):
    return sorted(r[0] for r in df.selectExpr("to_json(struct(*), map('ignoreNullFields', 'false')) j").collect())


def main(out, port):
    spark = SparkSession.builder.remote("sc://127.0.0.1:" + port).getOrCreate()
    tables = {}
    for make in (type_widening, mapped_later, v2_parquet, mapped_vectors):
        path = os.path.abspath(os.path.join(out, make.__name__))
        make(spark.sql, f"delta.`{path}`")
        latest = spark.read.format("delta").load(path)
        table = {"schema": json.loads(latest.schema.json()), "latest": lines(latest), "versions": {}}
        for r in spark.sql(f"describe history delta.`{path}`").orderBy("version").collect():
            rows = lines(spark.read.format("delta").option("versionAsOf", r.version).load(path))
            table["versions"][str(r.version)] = "latest" if rows == table["latest"] else rows
        if make is mapped_vectors:
            feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 3) \
                .option("endingVersion", 5).load(path)
            table["changes"] = lines(feed.drop("_commit_timestamp"))
            table["versions"] = {v: rows for v, rows in table["versions"].items() if len(rows) < 100}
        tables[make.__name__] = table
    with open(os.path.join(out, "morezoo.json"), "w") as f:
        json.dump({"tables": tables}, f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")


main(*sys.argv[1:])
