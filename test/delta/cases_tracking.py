"""schemaTrackingLocation: streams from Delta tables whose columns are renamed, dropped and widened."""
import glob, json, os, re
from cases_sink import VERSIONS  # noqa: VERSIONS is read by the harness

MAPPED = {"delta.columnMapping.mode": "name", "delta.minReaderVersion": "2", "delta.minWriterVersion": "5"}
CONFS = "spark.databricks.delta.streaming."


def table(t, columns="id long, s string, x int", name="src", **props):
    text = ", ".join(f"'{k}'='{v}'" for k, v in props.items())
    t.spark.sql(f"create table delta.`{t.path(name)}` ({columns}) using delta" + (f" tblproperties ({text})" if text else ""))


def sql(t, text, name="src"):
    t.spark.sql(text.replace("T", f"delta.`{t.path(name)}`", 1))


def insert(t, values, name="src"):
    sql(t, f"insert into T values {values}", name)


def put(t, label, v):
    """Keeps an error; Delta names a log by the path of its table there."""
    t.put(label, json.loads(re.sub(r"_schema_log_[A-Za-z0-9_-]*_src", "_schema_log_<table>", json.dumps(v))))


def stream(t, label, name="src", ck="ck", at="ck/log", start=None, to=None, **o):
    """Runs the stream to its end or its error; keeps the error, and the rows that were written so far."""
    if at:
        o["schemaTrackingLocation"] = at if at.startswith("/") else t.path(at)
    out, holder = t.path(to or "out-" + ck), {}

    def go():
        w = t.spark.readStream.format("delta").options(**o).load(t.path(name)).writeStream.format("delta").option("mergeSchema", "true")
        holder["q"] = w.option("checkpointLocation", t.path(ck)).trigger(availableNow=True).start(out)
        t.wait(holder["q"])
    e = t.error(go)
    keep = {k: e.get(k) for k in ("raised", "condition", "sqlState", "parameters")}
    text = str(e.get("message") or "")
    keep["named"] = re.findall(r"\[(DELTA_[A-Z0-9_.]+)\]", text)[:1]
    q = holder.get("q")
    if keep["parameters"] and "message" in keep["parameters"]:
        keep["parameters"] = None      # of STREAM_FAILED: prose and ids
    put(t, label, keep)
    if os.path.isdir(os.path.join(out, "_delta_log")):
        df = t.spark.read.format("delta").load(out)
        t.put(label + ".offsets", {k: [json.loads(x) for x in v[2:]] for k, v in sorted(t.text_files(ck).items()) if k.startswith("offsets/")})
        t.put(label + ".rows", [df.columns, sorted(t.rows(df), key=json.dumps)])
    return e


def logs(t, label, at="ck/log"):
    """The files of the schema log, with what is volatile in them masked."""
    found = {}
    for p in sorted(glob.glob(t.path(at, "*", "*"))):
        if os.path.basename(p).isdigit():
            lines = open(p).read().split("\n")
            body = json.loads(lines[1])
            for key in ("dataSchemaJson", "partitionSchemaJson"):
                if isinstance(body.get(key), str):
                    body[key] = json.loads(body[key])
            if isinstance(body.get("tableConfigurations"), dict):
                body["tableConfigurations"] = dict(sorted(body["tableConfigurations"].items()))
            body["tableId"] = "<id>" if "tableId" in body else None
            body["deltaCommitVersion"] = body.get("deltaCommitVersion")
            found[re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "<id>", os.path.relpath(p, t.path(at)))] = [lines[0], json.loads(re.sub(r"col-[0-9a-f-]{36}", "<col>", json.dumps(body)))]
    t.put(label, found)


def case_rename(t):
    """A renamed column: the stream stops at it, wants a conf, and goes on with the new name."""
    table(t, **MAPPED); insert(t, "(1, 'a', 1)")
    stream(t, "first"); logs(t, "log of first")
    insert(t, "(2, 'b', 2)"); sql(t, "alter table T rename column s to r"); insert(t, "(3, 'c', 3)")
    stream(t, "meets it"); logs(t, "log of meets it")
    stream(t, "without a conf"); stream(t, "again without")
    e = stream(t, "with another", allowSourceColumnDrop="always")
    t.spark.conf.set(CONFS + "allowSourceColumnRename", "always")
    stream(t, "with a conf"); logs(t, "log of with a conf"); stream(t, "nothing new")
    t.spark.conf.unset(CONFS + "allowSourceColumnRename")
    insert(t, "(4, 'd', 4)"); stream(t, "later")


def case_drop(t):
    """A dropped column."""
    table(t, **MAPPED); insert(t, "(1, 'a', 1)"); stream(t, "first")
    insert(t, "(2, 'b', 2)"); sql(t, "alter table T drop column s"); insert(t, "(3, 3)")
    stream(t, "meets it"); stream(t, "without")
    t.spark.conf.set(CONFS + "allowSourceColumnRename", "always"); stream(t, "with the conf of a rename")
    t.spark.conf.unset(CONFS + "allowSourceColumnRename"); t.spark.conf.set(CONFS + "allowSourceColumnDrop", "always")
    stream(t, "with a conf"); logs(t, "log"); t.spark.conf.unset(CONFS + "allowSourceColumnDrop")


def case_options(t):
    """The confirmation as an option of the reader."""
    table(t, **MAPPED); insert(t, "(1, 'a', 1)"); stream(t, "first")
    sql(t, "alter table T rename column s to r"); insert(t, "(2, 'b', 2)"); stream(t, "meets it")
    stream(t, "option", allowSourceColumnRename="always")
    sql(t, "alter table T drop column x"); insert(t, "(3, 'c')"); stream(t, "meets a drop")
    stream(t, "wrong option", allowSourceColumnDrop="zz"); stream(t, "both", allowSourceColumnRenameAndDrop="always")
    stream(t, "drop", allowSourceColumnDrop="always")


def case_conf_of_a_version(t):
    """Confirmations that name a version or a checkpoint."""
    table(t, **MAPPED); insert(t, "(1, 'a', 1)"); stream(t, "first")
    sql(t, "alter table T rename column s to r"); insert(t, "(2, 'b', 2)"); stream(t, "meets it")
    stream(t, "of another version", allowSourceColumnRename="1"); stream(t, "of the version", allowSourceColumnRename="2")


def case_add(t):
    """An added column, with and without a schema log."""
    table(t, **MAPPED); insert(t, "(1, 'a', 1)"); stream(t, "first")
    sql(t, "alter table T add columns (y int)"); insert(t, "(2, 'b', 2, 22)")
    stream(t, "meets it"); logs(t, "log"); stream(t, "goes on")


def case_rename_twice(t):
    """Two changes, one behind the other."""
    table(t, **MAPPED); insert(t, "(1, 'a', 1)"); stream(t, "first")
    sql(t, "alter table T rename column s to r"); sql(t, "alter table T drop column x"); insert(t, "(2, 'b')")
    for n in range(4):
        stream(t, f"run {n}")
    for n in range(4):
        stream(t, f"allowed {n}", allowSourceColumnRename="always", allowSourceColumnDrop="always")
    logs(t, "log")


def case_starts_behind(t):
    """A stream that begins at a version before a change."""
    table(t, **MAPPED); insert(t, "(1, 'a', 1)"); sql(t, "alter table T rename column s to r"); insert(t, "(2, 'b', 2)")
    for n in range(4):
        stream(t, f"run {n}", startingVersion="0")
    logs(t, "log")
    for n in range(3):
        stream(t, f"allowed {n}", startingVersion="0", allowSourceColumnRename="always")
    stream(t, "snapshot", ck="ck2", at="ck2/log"); logs(t, "log of snapshot", "ck2/log")


def case_types(t):
    """A column that gets a wider type."""
    table(t, **{"delta.enableTypeWidening": "true"}); insert(t, "(1, 'a', 1)"); stream(t, "first")
    insert(t, "(2, 'b', 2)"); sql(t, "alter table T alter column x type bigint"); insert(t, "(3, 'c', 3000000000)")
    stream(t, "meets it"); logs(t, "log"); stream(t, "without", to="wide")
    stream(t, "with", to="wide", allowSourceColumnTypeChange="always"); logs(t, "log of with")


def case_types_without(t):
    """A column that gets a wider type, without a schema log."""
    table(t, **{"delta.enableTypeWidening": "true"}); insert(t, "(1, 'a', 1)"); stream(t, "first", at=None)
    sql(t, "alter table T alter column x type bigint"); insert(t, "(3, 'c', 3000000000)")
    stream(t, "meets it", at=None, to="wide"); stream(t, "again", at=None, to="wide")


def case_partitions(t):
    """A partitioned table."""
    t.spark.sql(f"create table delta.`{t.path('part')}` (id long, s string, x int) using delta partitioned by (s) tblproperties (" + ", ".join(f"'{k}'='{v}'" for k, v in MAPPED.items()) + ")")
    insert(t, "(1, 'a', 1)", "part"); stream(t, "first", "part"); logs(t, "log of first")
    sql(t, "alter table T rename column s to r", "part"); insert(t, "(2, 'b', 2)", "part")
    stream(t, "meets it", "part"); stream(t, "with", "part", allowSourceColumnRename="always"); logs(t, "log")


def case_properties(t):
    """Properties, comments and constraints that change."""
    table(t, **MAPPED); insert(t, "(1, 'a', 1)"); stream(t, "first")
    for n, text in enumerate(["set tblproperties ('own' = 'x')", "set tblproperties ('delta.appendOnly' = 'true')", "alter column s comment 'c'", "set tblproperties ('delta.enableChangeDataFeed' = 'true')"]):
        sql(t, "alter table T " + text); insert(t, f"({n + 2}, 'b', 2)"); stream(t, "run " + text); stream(t, "again " + text)
    logs(t, "log")


def case_places(t):
    """Where a schema log may be."""
    table(t, **MAPPED); insert(t, "(1, 'a', 1)")
    stream(t, "elsewhere", ck="ck1", at="elsewhere"); stream(t, "root", ck="ck2", at="ck2"); stream(t, "old name", ck="ck3", at=None, schemaLocation=t.path("ck3", "log"))
    os.makedirs(t.path("ck4", "log")); stream(t, "no conf", ck="ck4", at="ck4/log")
    table(t, name="other", **MAPPED); insert(t, "(1, 'a', 1)", "other"); stream(t, "another table", "other", "ck4", "ck4/log")
    df = lambda: t.spark.readStream.format("delta").option("schemaTrackingLocation", t.path("ck5", "log")).load(t.path("src"))
    put(t, "two sources", t.error(lambda: t.wait(df().union(df()).writeStream.format("delta").option("checkpointLocation", t.path("ck5")).trigger(availableNow=True).start(t.path("out5")))))
    two = t.spark.readStream.format("delta").option("schemaTrackingLocation", t.path("ck8", "log"))
    t.put("two sources apart", t.error(lambda: t.wait(two.option("streamingSourceTrackingId", "a").load(t.path("src")).union(two.option("streamingSourceTrackingId", "b").load(t.path("src"))).writeStream.format("delta").option("checkpointLocation", t.path("ck8")).trigger(availableNow=True).start(t.path("out8")))))
    t.put("logs of two", sorted(re.sub("[0-9a-f]{8}-[0-9a-f-]{27}", "<id>", p) for p in t.tree("ck8", "log")))
    t.put("batch", t.error(lambda: t.spark.read.format("delta").option("schemaTrackingLocation", t.path("ck6", "log")).load(t.path("src")).collect()))
    table(t, name="unmapped"); insert(t, "(1, 'a', 1)", "unmapped"); stream(t, "unmapped", "unmapped", "ck7", "ck7/log"); logs(t, "log of unmapped", "ck7/log")
    sql(t, "alter table T set tblproperties ('delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5')", "unmapped"); insert(t, "(2, 'b', 2)", "unmapped")
    stream(t, "mapped later", "unmapped", "ck7", "ck7/log"); stream(t, "mapped later again", "unmapped", "ck7", "ck7/log"); logs(t, "log of mapped later", "ck7/log")


def case_without(t):
    """What stops a stream without a schema log, and the conf that reads on."""
    table(t, **MAPPED); insert(t, "(1, 'a', 1)"); stream(t, "first", at=None)
    sql(t, "alter table T rename column s to r"); insert(t, "(2, 'b', 2)"); stream(t, "renamed", at=None)
    t.spark.conf.set(CONFS + "unsafeReadOnIncompatibleColumnMappingSchemaChanges.enabled", "true"); stream(t, "unsafe", at=None); stream(t, "unsafe again", at=None)
    t.spark.conf.unset(CONFS + "unsafeReadOnIncompatibleColumnMappingSchemaChanges.enabled")


def case_feed(t):
    """The change feed with a schema log."""
    table(t, **MAPPED, **{"delta.enableChangeDataFeed": "true"}); insert(t, "(1, 'a', 1)")
    o = {"readChangeFeed": "true", "startingVersion": "0"}
    stream(t, "first", **o); insert(t, "(2, 'b', 2)"); sql(t, "alter table T rename column s to r"); insert(t, "(3, 'c', 3)")
    for n in range(3):
        stream(t, f"run {n}", **o)
    for n in range(2):
        stream(t, f"allowed {n}", allowSourceColumnRename="always", **o)
    t.data = {k: ([v[0], [[str(c) if i == v[0].index("_commit_timestamp") and False else c for i, c in enumerate(r)] for r in v[1]]] if k.endswith(".rows") else v) for k, v in t.data.items()}
    for k, v in t.data.items():
        if k.endswith(".rows"):
            at = v[0].index("_commit_timestamp")
            v[1] = [[("<time>" if i == at else c) for i, c in enumerate(r)] for r in v[1]]
