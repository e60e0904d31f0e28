"""DeltaTable of the package delta-spark: what its calls answer, the rows, the history and the refusals."""
import json, os, re
from cases_dml import COLS, DATA, commits, table
from cases_sink import VERSIONS, log  # noqa: VERSIONS is read by the harness
from cases_table import hide
from delta.tables import DeltaTable, IdentityGenerator
from pyspark.sql import functions as F


def made(t, name="t", columns=COLS, data=DATA, by="", **properties):
    """A table of one file for each group of rows, as a DeltaTable."""
    table(t, name, columns, data, by, **properties)
    return DeltaTable.forPath(t.spark, t.path(name))


def state(t, key, d):
    """The rows of a table and what its last commit tells of itself."""
    # the frame of a DeltaTable of a JVM session keeps the rows of its first look
    now = DeltaTable.forPath(t.spark, d.detail().collect()[0]["location"].replace("file:", ""))
    t.put(key + ".rows", sorted(t.rows(now.toDF()), key=json.dumps))
    r = d.history(1).collect()[0]
    m = {k: v for k, v in (r["operationMetrics"] or {}).items()}
    merge = r["operation"] == "MERGE"
    shown = {k: v for k, v in m.items() if not ("Bytes" in k or k.endswith("TimeMs") or "Size" in k or merge and k in (
        "numTargetFilesAdded", "numTargetFilesRemoved", "numTargetRowsCopied", "numOutputRows"))}
    t.put(key + ".commit", [r["version"], r["operation"], {k: ("<time>" if k == "timestamp" and v else v) for k, v in sorted((r["operationParameters"] or {}).items())}, sorted(m), dict(sorted(shown.items())), r["isBlindAppend"]])


def brief(call):
    """The condition of an error: for such as a JVM session has no class for."""
    try:
        call()
    except Exception as e:
        return re.findall(r"\[([A-Z][A-Z0-9_.]+)\]", str(e))[:1]


def frame(t, rows, columns):
    return t.spark.createDataFrame(rows, columns)


def case_read(t):
    """forPath, forName, toDF, alias, isDeltaTable."""
    d = made(t)
    t.put("rows", t.rows(d.toDF(), "id")); t.put("schema", t.schema(d.toDF()))
    t.put("filter", t.rows(d.toDF().where("id > 3").select("k"), "k"))
    df = d.toDF()
    t.put("by frame", t.rows(df.where(df.id == 2).select(df["k"], df.v + 1)))
    a = d.alias("a").toDF()
    t.put("alias", t.rows(a.select("a.id").where(F.col("a.id") < 3), "id"))
    t.put("join", t.rows(d.alias("x").toDF().join(d.alias("y").toDF(), F.expr("x.id = y.id + 1")).select("x.id", F.col("y.k")), "id"))
    t.put("by name of a path", t.rows(DeltaTable.forName(t.spark, f"delta.`{t.path('t')}`").toDF(), "id"))
    t.spark.sql("drop table if exists api_read"); t.spark.sql("create table api_read using delta as select 1 id, 'x' k")
    for name in ("api_read", "default.api_read", "spark_catalog.default.api_read"):
        t.put("name " + name, t.rows(DeltaTable.forName(t.spark, name).toDF()))
    os.makedirs(t.path("empty")); t.spark.range(2).write.parquet(t.path("parquet"))
    for name in ("t", "empty", "parquet", "none"):
        t.put("is " + name, bool(DeltaTable.isDeltaTable(t.spark, t.path(name))))
    t.put("is below", bool(DeltaTable.isDeltaTable(t.spark, t.path("t", "k=1"))))
    t.put("is log", bool(DeltaTable.isDeltaTable(t.spark, t.path("t", "_delta_log"))))


def refused(t, key, get):
    """Every call on a table that get() is to find, and that is none."""
    calls = {
        "toDF": lambda d: d.toDF().collect(), "delete": lambda d: d.delete("id = 1"), "update": lambda d: d.update(set={"id": "1"}),
        "merge": lambda d: d.alias("t").merge(frame(t, [(1,)], "id int").alias("s"), "t.id = s.id").whenMatchedDelete().execute(),
        "history": lambda d: d.history().collect(), "detail": lambda d: d.detail().collect(), "vacuum": lambda d: d.vacuum(),
        "optimize": lambda d: d.optimize().executeCompaction(), "restore": lambda d: d.restoreToVersion(0),
        "upgrade": lambda d: d.upgradeTableProtocol(1, 3), "feature": lambda d: d.addFeatureSupport("deletionVectors"),
    }
    for name, call in calls.items():
        t.put(f"{key} {name}", t.error(lambda: call(get())))


def case_refused(t):
    """A path and names without a Delta table."""
    os.makedirs(t.path("empty")); t.spark.range(2).write.parquet(t.path("parquet"))
    refused(t, "none", lambda: DeltaTable.forPath(t.spark, t.path("none")))
    t.put("empty", t.error(lambda: DeltaTable.forPath(t.spark, t.path("empty")).toDF().collect()))
    t.put("parquet", t.error(lambda: DeltaTable.forPath(t.spark, t.path("parquet")).toDF().collect()))
    refused(t, "no name", lambda: DeltaTable.forName(t.spark, "api_none"))
    t.spark.sql("drop table if exists api_parquet"); t.spark.sql("create table api_parquet using parquet as select 1 id")
    t.put("name of parquet", t.error(lambda: DeltaTable.forName(t.spark, "api_parquet").toDF().collect()))
    t.spark.range(1).createOrReplaceTempView("api_view")
    t.put("view", t.error(lambda: DeltaTable.forName(t.spark, "api_view").toDF().collect()))
    t.put("bad name", t.error(lambda: DeltaTable.forName(t.spark, "a b").toDF().collect()))
    t.put("no schema", t.error(lambda: DeltaTable.forName(t.spark, "api_zz.x").toDF().collect()))


def case_delete(t):
    """delete()."""
    d = made(t)
    d.delete("id = 2"); state(t, "text", d)
    d.delete(F.col("id") > 5); state(t, "column", d)
    d.alias("x").delete("x.id = 1"); state(t, "alias", d)
    d.delete(F.col("k").isNull() & (F.col("v") > 2)); state(t, "null", d)
    d.delete("id = 1000"); state(t, "nothing", d)
    t.put("unknown", t.error(lambda: d.delete("zz = 1"))); t.put("no boolean", t.error(lambda: d.delete("id + 1")))
    t.put("syntax", t.error(lambda: d.delete("id = = 1"))); t.put("subquery", t.error(lambda: d.delete("id in (select 1)")))
    d.delete(); state(t, "all", d)
    p = made(t, "p", by="k"); p.delete("k = 'a'"); state(t, "partition", p)


def case_update(t):
    """update()."""
    d = made(t)
    d.update("id = 2", {"v": "v * 10"}); state(t, "text", d)
    d.update(F.col("id") == 3, {"k": F.lit("new"), "v": F.col("v") + F.col("id")}); state(t, "column", d)
    d.update(set={"v": "0"}); state(t, "all", d)
    d.alias("x").update("x.id = 1", {"x.k": "concat(x.k, '!')"}); state(t, "alias", d)
    d.update("id = 1000", {"v": "1"}); state(t, "nothing", d)
    t.put("unknown", t.error(lambda: d.update("id = 1", {"zz": "1"}))); t.put("unknown value", t.error(lambda: d.update("id = 1", {"v": "zz"})))
    t.put("twice", t.error(lambda: d.update("id = 1", {"v": "1", "V": "2"}))); t.put("type", t.error(lambda: d.update("id = 1", {"id": "array(1)"})))
    s = made(t, "s", "id int, s struct<a: int, b: string>", [[(1, (1, "x")), (2, (2, "y"))]])
    s.update("id = 1", {"s.a": "7", "s.b": F.upper("s.b")}); state(t, "fields", s)


def upserted(t, name):
    return made(t, name), frame(t, [(1, "A", 10.0), (4, None, 40.0), (7, "g", 7.0), (8, None, None)], "id int, k string, v double")


def case_merge(t):
    """merge() with every clause."""
    d, s = upserted(t, "all")
    answer = d.alias("t").merge(s.alias("s"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    t.put("answer", [answer.columns, t.rows(answer)]); state(t, "all", d)
    d, s = upserted(t, "one")
    d.alias("t").merge(s.alias("s"), F.col("t.id") == F.col("s.id")).whenMatchedUpdate(set={"v": "s.v + t.v", "k": F.col("s.k")}) \
        .whenNotMatchedInsert(values={"id": "s.id", "v": F.lit(0.5)}).execute()
    state(t, "one", d)
    d, s = upserted(t, "some")
    d.alias("t").merge(s.alias("s"), "t.id = s.id").whenMatchedDelete("s.k is null").whenMatchedUpdate("t.v < 5", {"v": "-1"}) \
        .whenMatchedUpdateAll("t.v is null").whenNotMatchedInsert(F.col("s.k").isNotNull(), {"id": "s.id", "k": "'in'"}) \
        .whenNotMatchedInsertAll("s.id = 8").execute()
    state(t, "some", d)
    d, s = upserted(t, "source")
    d.alias("t").merge(s.alias("s"), "t.id = s.id").whenMatchedDelete().whenNotMatchedBySourceUpdate("t.id < 4", {"k": "concat(coalesce(t.k, '-'), '.')"}) \
        .whenNotMatchedBySourceUpdate(F.col("t.id") == 5, {"v": F.lit(55.0)}).whenNotMatchedBySourceDelete(F.col("t.id") > 5).execute()
    state(t, "source", d)
    d, s = upserted(t, "source2")
    d.alias("t").merge(s.alias("s"), "t.id = s.id").whenNotMatchedBySourceUpdate(set={"v": "0"}).execute(); state(t, "all of source", d)
    d.alias("t").merge(s.alias("s"), "t.id = s.id").whenNotMatchedBySourceDelete().execute(); state(t, "none of source", d)
    d, s = upserted(t, "frames")
    df = d.toDF()
    d.merge(s, df.id == s.id).whenMatchedUpdate(set={"v": s.v}).whenNotMatchedInsert(values={"id": s.id, "k": s["k"]}).execute(); state(t, "frames", d)
    d, _ = upserted(t, "self")
    d.alias("t").merge(d.toDF().where("id < 3").alias("s"), "t.id = s.id").whenMatchedUpdate(set={"v": "s.v * 2"}).execute(); state(t, "self", d)
    t.spark.sql("drop table if exists api_merge"); t.spark.sql("create table api_merge (id int, k string, v double) using delta")
    n = DeltaTable.forName(t.spark, "api_merge")
    n.alias("t").merge(s.alias("s"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(); state(t, "name", n)


def case_merge_evolves(t):
    """withSchemaEvolution() and columns that differ."""
    wide = frame(t, [(1, "A", 1.5, "n"), (9, "Z", 9.5, "m")], "id int, k string, v double, note string")
    d = made(t, "a")
    d.alias("t").merge(wide.alias("s"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(); state(t, "without", d)
    d.alias("t").merge(wide.alias("s"), "t.id = s.id").withSchemaEvolution().whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(); d = DeltaTable.forPath(t.spark, t.path("a")); state(t, "with", d)
    t.put("schema", t.schema(d.toDF()))
    narrow = frame(t, [(2, 22.0), (10, 10.0)], "id int, v double")
    m = lambda: d.alias("t").merge(narrow.alias("s"), "t.id = s.id")
    t.put("narrow update", t.error(lambda: m().whenMatchedUpdateAll().execute())); t.put("narrow insert", t.error(lambda: m().whenNotMatchedInsertAll().execute()))
    m().withSchemaEvolution().whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(); state(t, "narrow", d)
    e = made(t, "b")
    e.alias("t").merge(wide.alias("s"), "t.id = s.id").withSchemaEvolution().whenMatchedUpdate(set={"note": "s.note"}).execute(); state(t, "one new", DeltaTable.forPath(t.spark, t.path("b")))


def case_merge_refused(t):
    """What merge() refuses."""
    d, s = upserted(t, "t")
    m = lambda cond="t.id = s.id": d.alias("t").merge(s.alias("s"), cond)
    put = lambda key, fn: t.put(key, t.error(fn))
    put("no clause", lambda: m().execute())
    put("ambiguous", lambda: m("id = 1").whenMatchedDelete().execute())
    put("no boolean", lambda: m("t.id + s.id").whenMatchedDelete().execute())
    put("unknown set", lambda: m().whenMatchedUpdate(set={"zz": "1"}).execute())
    put("unknown insert", lambda: m().whenNotMatchedInsert(values={"zz": "1"}).execute())
    put("set twice", lambda: m().whenMatchedUpdate(set={"v": "1", "V": "2"}).execute())
    put("last has no condition", lambda: m().whenMatchedUpdateAll().whenMatchedDelete().execute())
    put("syntax", lambda: m("t.id = =").whenMatchedDelete().execute())
    twice = frame(t, [(1, "x", 1.0), (1, "y", 2.0)], "id int, k string, v double")
    put("two matches", lambda: d.alias("t").merge(twice.alias("s"), "t.id = s.id").whenMatchedUpdateAll().execute())
    put("aggregate", lambda: m("max(t.id) = s.id").whenMatchedDelete().execute())
    put("random", lambda: m("t.id = s.id and rand() > 2").whenMatchedDelete().execute())
    for name, values in (("none of set", None), ("set of text", "v"), ("set of a number", {"v": 1})):
        put(name, lambda: m().whenMatchedUpdate(set=values).execute())
    put("no source", lambda: d.merge(None, "true")); put("no condition", lambda: d.merge(s, None))
    t.put("rows", t.rows(d.toDF(), "id"))


def case_history(t):
    """history() and detail()."""
    d = made(t, by="k", **{"owner.note": "x"})
    d.delete("id = 1"); d.update("id = 2", {"v": "7"})
    h = d.history()
    t.put("schema", t.schema(h)); t.put("detail schema", t.schema(d.detail()))
    t.put("operations", t.rows(h.select("version", "operation", "operationParameters", "readVersion", "isolationLevel", "isBlindAppend")))
    t.put("limit", t.rows(d.history(2).select("version"))); t.put("where", t.rows(h.where("operation = 'UPDATE'").select("version")))
    t.put("count", h.count()); t.put("newest", t.rows(d.history(1).select(F.col("operationMetrics")["numUpdatedRows"])))
    r = d.detail().collect()[0].asDict()
    r["tableFeatures"] = sorted(r["tableFeatures"])
    t.put("detail", {k: ("<n>" if k in ("id", "createdAt", "lastModified", "sizeInBytes") else v) for k, v in r.items()})
    t.put("detail of a column", t.rows(d.detail().select("numFiles", "partitionColumns")))


def masked(t, key, df):
    t.put(key, None)
    t.data[key] = hide([df.columns, t.rows(df)])


def case_maintenance(t):
    """optimize(), restore, vacuum()."""
    d = made(t)
    r = d.optimize().executeCompaction(); t.put("compaction", [r.columns, sorted(r.collect()[0]["metrics"].asDict())]); state(t, "compaction", d)
    d.optimize().executeCompaction(); state(t, "compacted", d)
    d.optimize().executeZOrderBy("id"); state(t, "z-order", d)
    p = made(t, "p", by="k")
    p.toDF().where("k = 'a'").withColumn("id", F.col("id") + 100).write.format("delta").mode("append").save(t.path("p"))
    p.optimize().where("k = 'a'").executeCompaction(); state(t, "partition", p)
    p.optimize().where("k >= 'a'").where("k <= 'b'").executeZOrderBy("id", "v"); state(t, "partitions", p)
    put = lambda key, fn: t.put(key, t.error(fn))
    put("no partition", lambda: p.optimize().where("id = 1").executeCompaction()); put("z-order of none", lambda: p.optimize().executeZOrderBy("zz"))
    put("z-order of a partition", lambda: p.optimize().executeZOrderBy(["k"])); put("z-order of nothing", lambda: p.optimize().executeZOrderBy())
    masked(t, "restore", d.restoreToVersion(1)); state(t, "restored", d)
    put("restore of none", lambda: d.restoreToVersion(99)); put("restore of a negative", lambda: d.restoreToVersion(-1))
    put("restore of old", lambda: d.restoreToTimestamp("2001-01-01")); put("restore of new", lambda: d.restoreToTimestamp("2999-01-01"))
    put("restore of no time", lambda: d.restoreToTimestamp("soon"))
    now = str(d.history(1).select(F.date_format("timestamp", "yyyy-MM-dd HH:mm:ss.SSS")).collect()[0][0])
    d.delete(); d.restoreToTimestamp(now); state(t, "restored by time", d)
    d.vacuum(); d.vacuum(200); d.vacuum(200.5); state(t, "vacuum", d)
    starts = lambda: [[r[0], {k: v for k, v in r[1].items()}] for r in d.history().where("operation = 'VACUUM START'").select("version", "operationParameters").collect()]
    t.put("vacuum starts", starts())
    put("vacuum of too much", lambda: d.vacuum(1))
    t.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false"); d.vacuum(0)
    t.spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled"); state(t, "vacuumed", DeltaTable.forPath(t.spark, t.path("t")))
    t.put("vacuum starts again", starts())
    t.put("files", len([f for f in os.listdir(t.path("t")) if f.endswith(".parquet")]))


def protocol(t, d):
    r = d.detail().select("minReaderVersion", "minWriterVersion", "tableFeatures").collect()[0]
    return [r[0], r[1], sorted(r[2] or [])]


def case_protocol(t):
    """upgradeTableProtocol, addFeatureSupport."""
    d = made(t, **{"delta.minReaderVersion": "1", "delta.minWriterVersion": "2"})
    put = lambda key, fn: t.put(key, t.error(fn))
    t.put("before", protocol(t, d))
    d.upgradeTableProtocol(1, 3); t.put("1, 3", protocol(t, d)); state(t, "1, 3", d)
    d.upgradeTableProtocol(1, 2); t.put("1, 2", protocol(t, d)); state(t, "1, 2", d)
    d.upgradeTableProtocol(2, 5); t.put("2, 5", protocol(t, d))
    d.addFeatureSupport("timestampNtz"); t.put("ntz", protocol(t, d)); state(t, "ntz", d)
    d.addFeatureSupport("timestampNtz"); t.put("ntz again", protocol(t, d)); state(t, "ntz again", d)
    d.addFeatureSupport("deletionVectors"); t.put("vectors", protocol(t, d)); state(t, "vectors", d)
    d.upgradeTableProtocol(3, 7); t.put("3, 7", protocol(t, d)); state(t, "3, 7", d)
    put("too high", lambda: d.upgradeTableProtocol(9, 9)); put("negative", lambda: d.upgradeTableProtocol(-1, 2)); t.put("no such feature", brief(lambda: d.addFeatureSupport("zz")))


def case_builder(t):
    """create, createIfNotExists, replace, createOrReplace."""
    s = t.spark
    for name in ("api_b1", "api_b2", "api_b3"):
        s.sql("drop table if exists " + name)
    d = (DeltaTable.create(s).tableName("api_b1").addColumn("id", "INT", comment="the id").addColumn("k", "STRING", nullable=False).addColumn("d", "DATE")
         .addColumn("y", "INT", generatedAlwaysAs="year(d)").partitionedBy("y").comment("a table").property("delta.appendOnly", "false").property("own", "1").execute())
    t.put("schema", t.schema(d.toDF())); t.put("detail", {k: v for k, v in d.detail().collect()[0].asDict().items() if k in ("name", "description", "partitionColumns", "clusteringColumns", "properties", "minReaderVersion", "minWriterVersion", "tableFeatures")})
    t.put("metadata", [a["metaData"]["schemaString"] for a in sum(log_of(t, d), []) if "metaData" in a]); state(t, "created", d)
    frame(t, [(1, "a"), (2, "b")], "id int, k string").withColumn("d", F.expr("make_date(2020 + id, 1, 1)")).write.format("delta").mode("append").saveAsTable("api_b1"); state(t, "filled", d)
    one = lambda b: b.tableName("api_b1").addColumn("x", "LONG")
    put = lambda key, fn: t.put(key, t.error(fn))
    put("exists", lambda: one(DeltaTable.create(s)).execute())
    one(DeltaTable.createIfNotExists(s)).execute(); state(t, "if not exists", d)
    d = one(DeltaTable.replace(s)).execute(); state(t, "replaced", d); t.put("replaced schema", t.schema(d.toDF()))
    put("replace none", lambda: DeltaTable.replace(s).tableName("api_b2").addColumn("x", "LONG").execute())
    d = DeltaTable.createOrReplace(s).tableName("api_b2").addColumns(frame(t, [], "a int, b string").schema).execute(); state(t, "create or replace", d)
    d = DeltaTable.createOrReplace(s).tableName("api_b2").addColumn("z", "STRUCT<q: INT>").execute(); state(t, "replace or create", d)
    d = DeltaTable.create(s).location(t.path("loc")).addColumn("id", "INT").property("delta.enableChangeDataFeed", "true").execute(); state(t, "path", d)
    t.put("path detail", {k: v for k, v in d.detail().collect()[0].asDict().items() if k in ("name", "description", "properties")})
    put("path exists", lambda: DeltaTable.create(s).location(t.path("loc")).addColumn("id", "INT").execute())
    put("path exists, other columns", lambda: DeltaTable.create(s).location(t.path("loc")).addColumn("zz", "INT").execute())
    d = DeltaTable.createIfNotExists(s).location(t.path("loc")).addColumn("id", "INT").execute(); state(t, "path if not exists", d)
    t.put("path replaced, other columns", brief(lambda: DeltaTable.createOrReplace(s).location(t.path("loc")).addColumn("zz", "INT").execute()))
    d = DeltaTable.createOrReplace(s).location(t.path("loc")).addColumn("id", "INT").execute(); state(t, "path replaced", d)
    put("replace no path", lambda: DeltaTable.replace(s).location(t.path("loc2")).addColumn("zz", "INT").execute())
    d = DeltaTable.create(s).tableName("api_b3").location(t.path("both")).addColumn("id", "INT").execute(); state(t, "name and path", d)
    put("neither", lambda: DeltaTable.create(s).addColumn("id", "INT").execute())
    put("partition of none", lambda: DeltaTable.create(s).location(t.path("x1")).addColumn("id", "INT").partitionedBy("zz").execute())
    put("column twice", lambda: DeltaTable.create(s).location(t.path("x2")).addColumn("id", "INT").addColumn("ID", "INT").execute())
    put("bad type", lambda: DeltaTable.create(s).location(t.path("x3")).addColumn("id", "ZZ").execute())
    put("bad expression", lambda: DeltaTable.create(s).location(t.path("x4")).addColumn("id", "INT").addColumn("g", "INT", generatedAlwaysAs="zz + 1").execute())
    put("bad property", lambda: DeltaTable.create(s).location(t.path("x5")).addColumn("id", "INT").property("delta.zz", "1").execute())
    put("bad name", lambda: DeltaTable.create(s).tableName("a b").addColumn("id", "INT").execute())
    put("cluster and partition", lambda: DeltaTable.create(s).location(t.path("x6")).addColumn("id", "INT").partitionedBy("id").clusterBy("id").execute())


def log_of(t, d):
    place = d.detail().collect()[0]["location"].replace("file:", "")
    return list(log(t, place).values())


def case_builder_columns(t):
    """Identity columns and clustering of the builder."""
    s = t.spark
    d = (DeltaTable.create(s).location(t.path("i")).addColumn("n", "LONG", generatedAlwaysAs=IdentityGenerator()).addColumn("m", "LONG", generatedByDefaultAs=IdentityGenerator(100, 10))
         .addColumn("k", "STRING").execute())
    t.put("schema", t.schema(d.toDF())); t.put("protocol", protocol(t, d)); t.put("metadata", [a["metaData"]["schemaString"] for a in sum(log(t, "i").values(), []) if "metaData" in a])
    for k in "ab":
        frame(t, [(k,)], "k string").coalesce(1).write.format("delta").mode("append").save(t.path("i"))
    state(t, "numbered", d)
    t.put("given", t.error(lambda: frame(t, [(7, "c")], "n long, k string").write.format("delta").mode("append").save(t.path("i"))))
    c = DeltaTable.create(s).location(t.path("c")).addColumn("a", "INT").addColumn("b", "STRING").clusterBy("a", "b").execute()
    t.put("clustering", t.rows(c.detail().select("clusteringColumns", "partitionColumns"))); t.put("clustered protocol", protocol(t, c)); state(t, "clustered", c)
    t.put("identity of text", t.error(lambda: DeltaTable.create(s).location(t.path("x")).addColumn("n", "STRING", generatedAlwaysAs=IdentityGenerator()).execute()))


def case_clone(t):
    """clone, cloneAtVersion, cloneAtTimestamp."""
    d = made(t, "t", **{"own": "1"})
    T = lambda name: f"delta.`{t.path(name)}`"
    at = lambda name: DeltaTable.forPath(t.spark, t.path(name))   # what a JVM session answers is no DeltaTable
    put = lambda key, fn: t.put(key, t.error(fn))
    d.clone(T("c"), isShallow=True); state(t, "shallow", at("c")); t.put("properties", t.rows(at("c").detail().select("properties")))
    d.clone(T("c2"), isShallow=True, properties={"own": "2", "more": "3"}); t.put("given properties", [sorted(r[0].items()) for r in at("c2").detail().select("properties").collect()])
    d.cloneAtVersion(1, T("c3"), isShallow=True); state(t, "version", at("c3"))
    now = str(d.history().where("version = 2").select(F.date_format("timestamp", "yyyy-MM-dd HH:mm:ss.SSS")).collect()[0][0])
    d.cloneAtTimestamp(now, T("c4"), isShallow=True); state(t, "timestamp", at("c4"))
    put("no version", lambda: d.cloneAtVersion(99, T("c5"), isShallow=True)); put("exists", lambda: d.clone(T("c"), isShallow=True)); put("deep", lambda: d.clone(T("c6")))


def case_upsert(t):
    """The upsert of a foreachBatch."""
    spark, target = t.spark, t.path("target")
    t.spark.sql(f"create table delta.`{target}` (id long, v long, batch long) using delta")
    os.makedirs(t.path("in"))
    for n in range(3):
        with open(t.path("in", f"{n}.json"), "w") as f:
            f.writelines(json.dumps({"id": i, "v": 10 * n + i}) + "\n" for i in range(n, n + 3))
        os.utime(t.path("in", f"{n}.json"), (1_700_000_000 + n, 1_700_000_000 + n))

    def upsert(batch, number):
        (DeltaTable.forPath(batch.sparkSession, target).alias("t").merge(batch.withColumn("batch", F.lit(number)).alias("s"), "t.id = s.id")
         .whenMatchedUpdateAll().whenNotMatchedInsertAll().execute())

    df = spark.readStream.schema("id long, v long").option("maxFilesPerTrigger", 1).json(t.path("in"))
    t.wait(df.writeStream.foreachBatch(upsert).option("checkpointLocation", t.path("ck")).trigger(availableNow=True).start())
    d = DeltaTable.forPath(spark, target); state(t, "upserted", d)
    t.put("history", t.rows(d.history().select("version", "operation", F.col("operationMetrics")["numTargetRowsInserted"], F.col("operationMetrics")["numTargetRowsUpdated"])))
