"""Upserts in foreachBatch: MERGE over a temporary view, DataFrame.mergeInto, transactions of the program's own."""
import json
from cases_dml import commits, rows, run
from cases_sink import VERSIONS, log  # noqa: VERSIONS is read by the harness

SCHEMA = "id long, k string, v double"
BATCHES = [[{"id": 1, "k": "a", "v": 1.0}, {"id": 2, "k": "b", "v": 2.0}], [{"id": 2, "k": "bb", "v": 20.0}, {"id": 3, "k": "c", "v": 3.0}], [{"id": 1, "k": None, "v": 10.0}]]


def feed(t):
    import os
    os.makedirs(t.path("in"), exist_ok=True)
    for i, batch in enumerate(BATCHES):
        with open(t.path("in", f"{i}.json"), "w") as f:
            f.write("".join(json.dumps(r) + "\n" for r in batch))
        os.utime(t.path("in", f"{i}.json"), (1_700_000_000 + i, 1_700_000_000 + i))


def stream(t, batch, ckpt="ckpt"):
    df = t.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(t.path("in"))
    t.wait(df.writeStream.foreachBatch(batch).option("checkpointLocation", t.path(ckpt)).trigger(availableNow=True).start())


def case_merge_view(t):
    """MERGE by SQL over a temporary view of the batch, in the batch's session."""
    feed(t)
    T = f"delta.`{t.path('t')}`"
    t.spark.sql(f"create table {T} (id long, k string, v double) using delta")
    def batch(df, n):
        df.createOrReplaceTempView("updates")
        df.sparkSession.sql(f"merge into {T} t using updates s on t.id = s.id when matched then update set * when not matched then insert *")
    stream(t, batch)
    t.put("rows", rows(t, T)); t.put("commits", [[c[0], c[4]] for c in commits(t, "t")])

    t.put("metrics", [c[2] for c in commits(t, "t")][1:])


def case_merge_into(t):
    """df.mergeInto of the batch, into a table of the catalog."""
    feed(t)
    s = t.spark.sql
    s("drop table if exists up_t"); s("create table up_t (id long, k string, v double) using delta")
    from pyspark.sql import functions as F
    def batch(df, n):
        from pyspark.sql import functions as F
        (df.alias("s").mergeInto("up_t", F.expr("up_t.id = s.id")).whenMatched(F.col("s.k").isNull()).delete().whenMatched().updateAll().whenNotMatched().insertAll().merge())
    stream(t, batch)
    t.put("rows", rows(t, "up_t"))
    t.put("history", [[r[0], r[1]] for r in s("describe history up_t").select("version", "operation").orderBy("version").collect()])
    s("drop table up_t")


def case_txn(t):
    """A transaction of the program's own makes a repeated statement do nothing."""
    T = f"delta.`{t.path('t')}`"
    s = t.spark.sql
    s(f"create table {T} (id long, v long) using delta"); s(f"insert into {T} values (1, 1), (2, 2)")
    def txn(app, version):
        for key, value in (("txnAppId", app), ("txnVersion", version)):
            if value is None:
                t.spark.conf.unset("spark.databricks.delta.write." + key)
            else:
                t.spark.conf.set("spark.databricks.delta.write." + key, str(value))
    merge = f"merge into {T} t using (select 1L id, 5L v union all select 9L, 9L) s on t.id = s.id when matched then update set v = t.v + s.v when not matched then insert *"
    try:
        txn("app", 1); run(t, "merge", merge, T); run(t, "merge again", merge, T)
        txn("app", 2); run(t, "update", f"update {T} set v = v + 1 where id = 2", T); run(t, "update again", f"update {T} set v = v + 1 where id = 2", T)
        txn("app", 3); run(t, "delete", f"delete from {T} where id = 9", T); run(t, "insert after", f"insert into {T} values (9, 9)", T); run(t, "delete again", f"delete from {T} where id = 9", T)
        txn("app", 4); run(t, "insert", f"insert into {T} values (9, 9)", T); run(t, "insert again", f"insert into {T} values (9, 9)", T)
        txn("other", 1); run(t, "other", f"insert into {T} values (10, 10)", T); run(t, "nothing", f"delete from {T} where id = 77", T); run(t, "behind nothing", f"delete from {T} where id = 10", T)
        df = t.spark.range(20, 21).selectExpr("id", "id as v").coalesce(1)
        txn("frame", 1); df.write.format("delta").mode("append").save(t.path("t")); df.write.format("delta").mode("append").save(t.path("t")); df.write.format("delta").mode("append").option("txnAppId", "opt").option("txnVersion", 1).save(t.path("t")); t.put("frames", rows(t, T))
        txn("app", None); run(t, "only app", f"delete from {T} where id = 1", T); txn(None, "1"); run(t, "only version", f"delete from {T} where id = 1", T)
        txn("maint", 1); run(t, "optimize", f"optimize {T}"); t.data["optimize"] = len(t.data["optimize"]); run(t, "alter", f"alter table {T} set tblproperties ('a' = 'b')")
        txn(None, None); t.spark.conf.set("spark.databricks.delta.write.txnVersion.autoReset.enabled", "true")
        txn("reset", 1); run(t, "reset", f"insert into {T} values (30, 30)", T); run(t, "after reset", f"insert into {T} values (31, 31)", T)
    finally:
        txn(None, None); t.spark.conf.unset("spark.databricks.delta.write.txnVersion.autoReset.enabled")
    t.put("txns", [[a[k] for a in acts for k in a if k == "txn"] for acts in log(t, "t").values()])
