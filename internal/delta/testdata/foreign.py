"""Reads Delta tables with programs that are not ours, for foreign_test.go.

    python foreign.py TABLE…

One line of JSON for each reader that is installed and each table: its version,
its partition columns and its rows as text, sorted.
"""
import datetime
import decimal
import glob
import importlib.util
import json
import os
import sys

import pyarrow


def text(v):
    if isinstance(v, dict):
        return "{%s}" % ",".join("%s=%s" % (k, text(x)) for k, x in v.items())
    if isinstance(v, list):
        if v and all(isinstance(x, tuple) for x in v):  # a map
            return "{%s}" % ",".join("%s=%s" % (k, text(x)) for k, x in v)
        return "[%s]" % ",".join(text(x) for x in v)
    if isinstance(v, bytes):
        return v.hex()
    if isinstance(v, datetime.datetime):
        if v.tzinfo:
            v = v.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return v.isoformat(" ", "microseconds")
    if isinstance(v, decimal.Decimal):
        return format(v, "f")
    return str(v)


def rows(table):
    return sorted("|".join(text(v) for v in row.values()) for row in table.to_pylist())


def delta_rs(path):
    from deltalake import DeltaTable, QueryBuilder
    t = DeltaTable(path)
    # Not to_pyarrow_table, which finds NULL in mapped columns.
    found = QueryBuilder().register("t", t).execute("select * from t").read_all()
    return {"version": t.version(), "partitions": t.metadata().partition_columns, "rows": rows(pyarrow.table(found))}


def duckdb_reader():
    import duckdb
    con = duckdb.connect()
    try:
        con.execute("load delta")
    except duckdb.Error:
        found = importlib.util.find_spec("duckdb_ext")
        folders = list(found.submodule_search_locations) if found else []
        files = [f for d in folders for f in glob.glob(os.path.join(d, "extensions", "*", "*", "delta.duckdb_extension"))]
        if not files:
            return None
        con.execute("load '%s'" % files[0])
    con.execute("set timezone = 'UTC'")
    return lambda path: {"rows": rows(con.execute("select * from delta_scan(?)", [path]).fetch_arrow_table())}


readers = {"delta-rs": delta_rs} if importlib.util.find_spec("deltalake") else {}
try:
    duck = duckdb_reader()
except ImportError:
    duck = None
if duck:
    readers["duckdb"] = duck
for path in sys.argv[1:]:
    for name, read in readers.items():
        print(json.dumps(dict(read(path), reader=name, table=os.path.basename(path)), ensure_ascii=False))
# Not the usual way out: threads of the readers may still be running, and a C++ runtime
# that is taken down beneath them aborts the process after every row was read.
sys.stdout.flush()
os._exit(0)
