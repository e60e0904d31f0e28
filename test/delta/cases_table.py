"""Statements about whole Delta tables: history, detail, OPTIMIZE, VACUUM, RESTORE, ALTER TABLE, TRUNCATE, properties."""
import glob, json, os
from cases_dml import COLS, DATA, commits, rows, run, table
from cases_sink import VERSIONS, log  # noqa: VERSIONS is read by the harness


def answer(t, key, text, T=None):
    """run() with numbers of bytes and times masked."""
    run(t, key, text, T)
    t.data[key] = hide(t.data[key])


def hide(v, name=""):
    if isinstance(v, dict):
        return {k: hide(x, k) for k, x in v.items()}
    if isinstance(v, list):
        if len(v) == 2 and v[0] and isinstance(v[0], list) and all(isinstance(c, str) for c in v[0]):   # columns, rows
            return [v[0], [[hide(x, c) for x, c in zip(r, v[0])] if isinstance(r, list) else r for r in v[1]]]
        return [hide(x, name) for x in v]
    volatile = any(w in name.lower() for w in ("size", "bytes", "time", "min", "max", "avg", "createdat", "lastmodified", "parallelism")) and name not in ("minReaderVersion", "minWriterVersion")
    return "<n>" if volatile and v is not None else v


def case_history(t):
    """DESCRIBE HISTORY and DESCRIBE DETAIL."""
    T = table(t, "t", COLS, DATA[:2], **{"owner.note": "x"})
    t.spark.sql(f"delete from {T} where id = 1"); t.spark.sql(f"update {T} set v = 7 where id = 2")
    h = lambda q: [[r["version"], r["operation"], dict(sorted((r["operationParameters"] or {}).items())), r["readVersion"], r["isolationLevel"], r["isBlindAppend"], r["userMetadata"], r["job"], r["notebook"], r["clusterId"], r["userId"]] for r in t.spark.sql(q).collect()]
    t.put("history", h(f"describe history {T}")); t.put("limit", h(f"describe history {T} limit 2")); t.put("short", h(f"desc history '{t.path('t')}'"))
    t.put("schema", t.schema(t.spark.sql(f"describe history {T}")))
    t.put("where", t.rows(t.spark.sql(f"describe history {T}").where("operation = 'UPDATE'").select("version")))
    d = t.spark.sql(f"describe detail {T}"); r = d.collect()[0].asDict()
    t.put("detail schema", t.schema(d))
    t.put("detail", {k: ("<n>" if k in ("id", "createdAt", "lastModified", "sizeInBytes") else v) for k, v in r.items()})
    s = t.spark.sql
    s("drop table if exists dml_h"); s("create table dml_h (id int, k string) using delta partitioned by (k) comment 'c' tblproperties ('delta.appendOnly' = 'true')")
    r = s("describe detail dml_h").collect()[0].asDict()
    t.put("detail of a name", {k: ("<n>" if k in ("id", "createdAt", "lastModified", "sizeInBytes", "location") else v) for k, v in r.items()})
    t.put("history of a name", h("describe history dml_h"))
    run(t, "no table", "describe history dml_none"); run(t, "no path", f"describe history delta.`{t.path('zz')}`"); run(t, "detail of none", "describe detail dml_none")
    s("drop table if exists dml_p"); s("create table dml_p (id int) using parquet")
    run(t, "no delta", "describe history dml_p")
    run(t, "detail of parquet", "describe detail dml_p"); t.data["detail of parquet"] = hide(t.data["detail of parquet"]) if isinstance(t.data["detail of parquet"], dict) else [t.data["detail of parquet"][0], [r[:1] for r in t.data["detail of parquet"][1]]]
    s("create or replace temp view dml_v as select 1 id"); run(t, "view", "describe history dml_v")
    s("drop table dml_h"); s("drop table dml_p")


def case_optimize(t):
    """OPTIMIZE packs small files; nothing to pack is no commit; with a condition on partitions."""
    T = table(t, "t", COLS, DATA)
    answer(t, "all", f"optimize {T}", T); answer(t, "again", f"optimize {T}", T)
    P = table(t, "p", COLS, DATA + [[(7, "a", 7.0)]], by="k")
    answer(t, "condition", f"optimize {P} where k = 'a'", P)
    answer(t, "partitions", f"optimize {P}", P)
    answer(t, "zorder", f"optimize {T} zorder by (id)", T); answer(t, "zorder by two", f"optimize {T} zorder by (id, v)", T)
    answer(t, "no partition column", f"optimize {P} where id = 1"); answer(t, "zorder by partition", f"optimize {P} zorder by (k)"); answer(t, "zorder by none", f"optimize {T} zorder by (nope)")
    answer(t, "no table", "optimize dml_none"); answer(t, "no path", f"optimize delta.`{t.path('zz')}`")
    E = table(t, "e", COLS, [])
    answer(t, "empty", f"optimize {E}")
    t.put("commits", commits(t, "t", 4)); t.put("commits p", commits(t, "p", 5)); t.put("commits e", commits(t, "e"))
    t.put("data change", [a[k]["dataChange"] for acts in list(log(t, "t").values())[4:5] for a in acts for k in a if k in ("add", "remove")])


def case_vacuum(t):
    """VACUUM: retention, dry run, what stays."""
    t.spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")   # tasks that Spark lists files with
    T = table(t, "t", COLS, DATA); s = t.spark.sql
    s(f"delete from {T} where id = 1"); s(f"delete from {T} where id = 4")
    files = lambda: len([f for f in os.listdir(t.path("t")) if f.endswith(".parquet")])
    t.put("files before", files())
    run(t, "default dry", f"vacuum {T} dry run"); run(t, "default", f"vacuum {T}"); t.put("files after default", files())
    run(t, "short", f"vacuum {T} retain 0 hours"); run(t, "fraction", f"vacuum {T} retain 168.5 hours dry run")
    t.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    run(t, "dry", f"vacuum {T} retain 0 hours dry run"); t.data["dry"] = [t.data["dry"][0], len(t.data["dry"][1])]
    run(t, "zero", f"vacuum {T} retain 0 hours", T); t.put("files after zero", files())
    t.spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    run(t, "path", f"vacuum '{t.path('t')}' retain 200 hours dry run")
    run(t, "no table", "vacuum dml_none"); run(t, "no path", f"vacuum delta.`{t.path('zz')}`")
    os.makedirs(t.path("plain")); run(t, "plain folder", f"vacuum delta.`{t.path('plain')}`")
    t.put("commits", [[c[0], {k: ("<n>" if k != "status" and "etention" in k else v) for k, v in c[1].items()}, {k: ("<n>" if "size" in k.lower() else v) for k, v in c[2].items()}, c[4]] for c in commits(t, "t", 4)])


def case_restore(t):
    """RESTORE TABLE to a version and to a time."""
    T = table(t, "t", COLS, DATA); s = t.spark.sql
    s(f"delete from {T} where id = 1"); s(f"alter table {T} add columns (more int)"); s(f"insert into {T} values (9, 'z', 9.0, 9)")
    answer(t, "version", f"restore table {T} to version as of 2", T)
    answer(t, "same", f"restore table {T} to version as of 7", T)
    answer(t, "newer", f"restore table {T} to version as of 6", T)
    t.put("schema", [f.name for f in t.spark.table(T).schema])
    answer(t, "without table", f"restore {T} to version as of 1", T)
    answer(t, "no version", f"restore table {T} to version as of 99"); answer(t, "early", f"restore table {T} to timestamp as of '2001-01-01'"); answer(t, "late", f"restore table {T} to timestamp as of '2999-01-01'")
    answer(t, "no table", "restore table dml_none to version as of 0")
    t.put("commits", commits(t, "t", 4))


def case_alter(t):
    """ALTER TABLE: columns, properties, what needs column mapping."""
    T = table(t, "t", COLS, DATA[:1]); s = t.spark.sql
    run(t, "add", f"alter table {T} add columns (a int comment 'new', b string)", T)
    run(t, "add first", f"alter table {T} add column (c date first)"); run(t, "add after", f"alter table {T} add columns (d date after id)")
    run(t, "add again", f"alter table {T} add columns (A int)"); run(t, "add not null", f"alter table {T} add columns (n int not null)")
    run(t, "columns", f"describe {T}")
    run(t, "rename", f"alter table {T} rename column k to kk"); run(t, "drop", f"alter table {T} drop column k"); run(t, "drop none", f"alter table {T} drop column nope")
    run(t, "set", f"alter table {T} set tblproperties ('owner.note' = 'x', 'delta.appendOnly' = 'true')"); run(t, "properties", f"show tblproperties {T}"); run(t, "property", f"show tblproperties {T} ('owner.note')"); run(t, "no property", f"show tblproperties {T} ('nope')")
    run(t, "unset", f"alter table {T} unset tblproperties ('owner.note')"); run(t, "unset again", f"alter table {T} unset tblproperties ('owner.note')"); run(t, "unset if exists", f"alter table {T} unset tblproperties if exists ('owner.note', 'delta.appendOnly')")
    run(t, "unknown property", f"alter table {T} set tblproperties ('delta.nope' = 'x')"); run(t, "bad value", f"alter table {T} set tblproperties ('delta.appendOnly' = 'maybe')")
    run(t, "comment", f"alter table {T} alter column k comment 'key'"); run(t, "comment of none", f"alter table {T} alter column nope comment 'key'")
    run(t, "set not null", f"alter table {T} alter column id set not null"); run(t, "drop not null", f"alter table {T} alter column id drop not null")
    run(t, "wider", f"alter table {T} alter column id type bigint"); run(t, "narrower", f"alter table {T} alter column id type smallint"); run(t, "change", f"alter table {T} change column k k string comment 'changed'")
    run(t, "first", f"alter table {T} alter column k first"); run(t, "after", f"alter table {T} alter column k after v")
    run(t, "table comment", f"comment on table {T} is 'about'")
    run(t, "columns at last", f"describe {T}")
    run(t, "mapping", f"alter table {T} set tblproperties ('delta.columnMapping.mode' = 'name')")
    run(t, "rename mapped", f"alter table {T} rename column k to kk", T); run(t, "drop mapped", f"alter table {T} drop column b", T); run(t, "drop two", f"alter table {T} drop columns (a, d)", T)
    run(t, "rename to taken", f"alter table {T} rename column kk to ID"); run(t, "drop of mapped none", f"alter table {T} drop column nope"); run(t, "drop if exists", f"alter table {T} drop column if exists nope")
    run(t, "no table", "alter table dml_none add columns (a int)"); run(t, "no path", f"alter table delta.`{t.path('zz')}` add columns (a int)")
    t.put("commits", [[c[0], c[1], c[3], c[4]] for c in commits(t, "t", 2)])


def case_alter_structs(t):
    """ALTER TABLE of fields within columns."""
    T = table(t, "t", "id int, s struct<a: int, b: string>, l array<struct<x: int>>, m map<string, struct<y: int>>", [[(1, (1, "b"), [(1,)], {"k": (1,)})]])
    run(t, "add", f"alter table {T} add columns (s.c int)", T); run(t, "add first", f"alter table {T} add columns (s.z int first)", T)
    run(t, "element", f"alter table {T} add columns (l.element.w int)", T); run(t, "value", f"alter table {T} add columns (m.value.w int)", T)
    run(t, "no struct", f"alter table {T} add columns (id.c int)"); run(t, "no column", f"alter table {T} add columns (nope.c int)")
    run(t, "comment", f"alter table {T} alter column s.a comment 'deep'")
    t.put("schema", t.schema(t.spark.table(T)))


def case_alter_names(t):
    """ALTER TABLE, SHOW, TRUNCATE of a table of the catalog."""
    s = t.spark.sql
    s("drop table if exists dml_a"); s("create table dml_a (id int, k string) using delta partitioned by (k)"); s("insert into dml_a values (1, 'a'), (2, 'b')")
    run(t, "add", "alter table dml_a add columns (v double)", "dml_a"); run(t, "insert", "insert into dml_a values (3, 'c', 3.0)", "dml_a")
    run(t, "columns", "show columns in dml_a");
    run(t, "set", "alter table dml_a set tblproperties ('a.b' = 'c')"); run(t, "properties", "show tblproperties dml_a")
    run(t, "truncate partition", "truncate table dml_a partition (k = 'a')", "dml_a"); run(t, "truncate", "truncate table dml_a", "dml_a")
    run(t, "constraint", "alter table dml_a add constraint c check (id > 0)"); run(t, "violated", "insert into dml_a values (-1, 'x', 1.0)", "dml_a")
    t.put("history", [[r[0], r[1], dict(sorted(r[2].items()))] for r in s("describe history dml_a").selectExpr("version", "operation", "operationParameters").orderBy("version").collect()])
    s("drop table dml_a")


def case_truncate(t):
    """TRUNCATE TABLE of a path, of what is none."""
    T = table(t, "t", COLS, DATA)
    run(t, "all", f"truncate table {T}", T); run(t, "again", f"truncate table {T}", T)
    run(t, "no table", "truncate table dml_none"); run(t, "no path", f"truncate table delta.`{t.path('zz')}`")
    t.put("commits", commits(t, "t", 4))


def case_clone(t):
    """SHALLOW CLONE."""
    T = table(t, "t", COLS, DATA, by="k"); C = f"delta.`{t.path('c')}`"; s = t.spark.sql
    answer(t, "clone", f"create table {C} shallow clone {T}", C)
    run(t, "again", f"create table {C} shallow clone {T}"); answer(t, "if not exists", f"create table if not exists {C} shallow clone {T}")
    run(t, "delete", f"delete from {C} where id = 1", C); run(t, "insert", f"insert into {C} values (10, 'new', 1.0)", C); run(t, "update", f"update {C} set v = 0 where k = 'b'", C)
    run(t, "source", f"select count(*) from {T}")
    D = f"delta.`{t.path('d')}`"
    answer(t, "version", f"create table {D} shallow clone {T} version as of 1", D)
    answer(t, "replace", f"create or replace table {D} shallow clone {T} tblproperties ('a.b' = 'c')", D)
    t.put("ops", [[c[0], {k: v for k, v in c[1].items()}, c[4]] for c in commits(t, "c")])


def case_alter_types(t):
    """ALTER COLUMN TYPE of a table that may widen, and of one that may not."""
    s = t.spark.sql
    T = table(t, "t", "id int, b tinyint, h smallint, f float, d date, m decimal(5, 2), s struct<a: int, b: string>, l array<int>, p map<int, tinyint>, k string",
              [[(1, 1, 1, 1.5, None, None, (1, "x"), [1], {1: 1}, "a")]])
    run(t, "not enabled", f"alter table {T} alter column id type bigint")
    run(t, "enable", f"alter table {T} set tblproperties ('delta.enableTypeWidening' = 'true', 'delta.feature.timestampNtz' = 'supported')")
    for label, column, to in [
        ("tinyint to smallint", "b", "smallint"), ("smallint to int", "b", "int"), ("int to bigint", "id", "bigint"), ("smallint to bigint", "h", "bigint"),
        ("float to double", "f", "double"), ("date to timestamp_ntz", "d", "timestamp_ntz"), ("decimal", "m", "decimal(10, 4)"), ("field", "s.a", "bigint"), ("element", "l.element", "bigint"),
        ("key", "p.key", "bigint"), ("value", "p.value", "int"), ("same", "id", "bigint"), ("narrower", "id", "int"), ("text", "id", "string"), ("bigint to double", "id", "double"),
        ("int to double", "b", "double"), ("int to decimal", "p.value", "decimal(12, 0)"), ("narrower decimal", "m", "decimal(10, 5)"), ("date to timestamp", "d", "timestamp"), ("none", "nope", "bigint"),
    ]:
        run(t, label, f"alter table {T} alter column {column} type {to}")
    run(t, "change", f"alter table {T} change column h h bigint comment 'big'")
    run(t, "insert", f"insert into {T} select 5000000000, 70000, 1, 0.1D, timestamp_ntz'2024-01-01 10:00:00', 1.2345, named_struct('a', 5000000000, 'b', 'y'), array(5000000000), map(5000000000, 300), 'b'", T)
    t.put("fields", [a for acts in log(t, "t").values() for a in acts if "metaData" in a][-1]["metaData"]["schemaString"])
    t.put("commits", [[c[0], c[1], c[3], c[4]] for c in commits(t, "t", 2)])
    P = table(t, "p", "id int, k int", [[(1, 1)]], "k", **{"delta.enableTypeWidening": "true"})
    run(t, "partition column", f"alter table {P} alter column k type bigint", P)
    G = table(t, "g", "id int, v int", [[(1, 1)]], **{"delta.enableTypeWidening": "true"})
    run(t, "constraint", f"alter table {G} add constraint c check (v > 0)"); run(t, "constrained", f"alter table {G} alter column v type bigint")
    run(t, "disable", f"alter table {G} set tblproperties ('delta.enableTypeWidening' = 'false')"); run(t, "disabled", f"alter table {G} alter column id type bigint")


def case_alter_defaults(t):
    """ALTER COLUMN SET and DROP DEFAULT."""
    T = table(t, "t", "id int, v int, k string", [[(1, 1, "a")]])
    run(t, "not enabled", f"alter table {T} alter column v set default 5")
    run(t, "enable", f"alter table {T} set tblproperties ('delta.feature.allowColumnDefaults' = 'supported')")
    run(t, "set", f"alter table {T} alter column v set default 5"); run(t, "insert", f"insert into {T} (id, k) values (2, 'b')", T)
    run(t, "set again", f"alter table {T} alter column v set default 1 + 6"); run(t, "named", f"insert into {T} values (3, default, 'c')", T)
    run(t, "drop", f"alter table {T} alter column v drop default"); run(t, "without", f"insert into {T} (id, k) values (4, 'd')", T)
    run(t, "drop again", f"alter table {T} alter column v drop default"); run(t, "of no column", f"alter table {T} alter column nope set default 1")
    run(t, "bad text", f"alter table {T} alter column v set default 'x'"); run(t, "not constant", f"alter table {T} alter column v set default id"); run(t, "query", f"alter table {T} alter column v set default (select 1)")
    run(t, "wide", f"alter table {T} alter column v set default 5000000000"); run(t, "null", f"alter table {T} alter column k set default null")
    t.put("commits", [[c[0], c[1], c[3], c[4]] for c in commits(t, "t", 2)])


def case_rename(t):
    """ALTER TABLE RENAME TO."""
    s = t.spark.sql
    for name in ("dml_r", "dml_s", "dml_x"):
        s(f"drop table if exists {name}")
    s("create table dml_r (id int) using delta"); s("insert into dml_r values (1)")
    run(t, "rename", "alter table dml_r rename to dml_s", "dml_s"); run(t, "old name", "select * from dml_r")
    run(t, "itself", "alter table dml_s rename to dml_s"); s("create table dml_x (id int) using delta"); run(t, "taken", "alter table dml_s rename to dml_x")
    run(t, "none", "alter table dml_none rename to dml_q"); run(t, "qualified", "alter table default.dml_s rename to default.dml_r", "dml_r"); run(t, "other schema", "alter table dml_r rename to nope.dml_s")
    run(t, "insert", "insert into dml_r values (2)", "dml_r")
    P = table(t, "p", "id int", [[(1,)]])
    run(t, "path", f"alter table {P} rename to dml_q"); run(t, "to a path", f"alter table dml_r rename to {P}")
    s(f"create table dml_e using delta location '{t.path('p')}'"); run(t, "external", "alter table dml_e rename to dml_f", "dml_f")
    for name in ("dml_r", "dml_x", "dml_f"):
        s(f"drop table if exists {name}")


def case_deep_clone(t):
    """DEEP CLONE, which only Databricks has."""
    T = table(t, "t", "id int", [[(1,)]]); C = f"delta.`{t.path('c')}`"
    run(t, "deep", f"create table {C} deep clone {T}"); run(t, "neither", f"create table {C} clone {T}")
