"""Records how Apache Spark 4.3.0 prints and reads datetime patterns.

Run with pyspark==4.3.0 and Java 17; writes patterns.jsonl beside this file.
A line is {call, zone, arg, pattern, out | error}: call is date_format (arg a
timestamp in UTC), to_timestamp, to_timestamp_ntz or to_date (arg a text).
"""
import json, os
from pyspark.sql import SparkSession

spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.sql.codegen.wholeStage", "false").config("spark.sql.codegen.factoryMode", "NO_CODEGEN").getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
here = os.path.dirname(os.path.abspath(__file__))

stamps = ["2024-02-09 03:04:05.678901", "2021-11-23 15:16:07", "1969-12-31 23:59:59.999999", "0001-01-01 00:00:00",
          "-0005-02-09 00:00:00", "+12345-07-01 12:00:00.5", "2024-07-09 00:04:05.1", "1883-01-01 00:00:00"]
zones = ["UTC", "America/Los_Angeles", "Europe/Paris", "Asia/Kolkata", "+05:30", "-00:30"]
letters = ["G", "y", "M", "L", "d", "D", "E", "F", "Q", "q", "a", "h", "H", "k", "K", "m", "s", "S", "z", "O", "X", "x", "Z", "g"]
prints = [c * n for c in letters for n in range(1, 8)] + ["VV", "V", "B", "A", "n", "N", "p", "Y", "w", "W", "u", "e", "c",
    "S" * 8, "S" * 9, "S" * 10, "yyyy-MM-dd HH:mm:ss.SSSSSS", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "EEE, d MMM yyyy HH:mm:ss Z",
    "hh:mm a", "''yyyy''", "'it''s' y", "yyyy'x", "[yyyy]", "[yyyy", "yyyy]", "yyyy#", "{yyyy}", "", "yyyy-MM-dd[ HH[:mm]]",
    "yMd", "yyyyMMddHHmmss", "é y", "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]", "y G", "yyyy GGGG"]
reads = [("2024-02-09", "yyyy-MM-dd"), ("2024-2-9", "yyyy-M-d"), ("20240209", "yyyyMMdd"), ("202402", "yyyyMM"),
    ("2024029", "yyyyMMd"), ("12024-02-09", "yyyy-MM-dd"), ("+12024-02-09", "yyyy-MM-dd"), ("-2024-02-09", "yyyy-MM-dd"),
    ("024-02-09", "yyyy-MM-dd"), ("24", "yy"), ("124", "yy"), ("9", "y"), ("-9", "y"), ("+9", "y"), ("-0", "y"),
    ("2024-02-09 1:2:3", "yyyy-MM-dd H:m:s"), ("2024-02-09 24:00:00", "yyyy-MM-dd HH:mm:ss"), ("24", "kk"), ("0", "k"), ("12", "hh"),
    ("0", "h"), ("11 PM", "K a"), ("11 pm", "h a"), ("12 am", "h a"), ("12 PM", "hh a"), ("PM", "a"), ("13 PM", "H a"), ("10 PM", "H a"),
    ("1", "D"), ("2024 060", "yyyy DDD"), ("2023 366", "yyyy DDD"), ("2024-02 060", "yyyy-MM DDD"), ("2024-03 060", "yyyy-MM DDD"),
    ("Jan 2024", "MMM yyyy"), ("JANUARY 2024", "MMMM yyyy"), ("Jan 2024", "MMMM yyyy"), ("may 2024", "MMM yyyy"), ("Foo 2024", "MMM yyyy"),
    ("1.5", "s.S"), ("1.123456789", "s.SSSSSSSSS"), ("1.1234", "s.SSS"), ("1.", "s.SSS"), ("1", "s[.SSS]"), ("12:30:45.6", "HH:mm:ss.SSSSSS"),
    ("2024-02-09 03:04:05 +0200", "yyyy-MM-dd HH:mm:ss Z"), ("2024-02-09 03:04:05 +02:00", "yyyy-MM-dd HH:mm:ss XXX"),
    ("2024-02-09 03:04:05 +02", "yyyy-MM-dd HH:mm:ss X"), ("2024-02-09 03:04:05 Z", "yyyy-MM-dd HH:mm:ss X"),
    ("2024-02-09 03:04:05 z", "yyyy-MM-dd HH:mm:ss X"), ("2024-02-09 03:04:05 +0230", "yyyy-MM-dd HH:mm:ss X"),
    ("2024-02-09 03:04:05 +02", "yyyy-MM-dd HH:mm:ss XXX"), ("2024-02-09 03:04:05 GMT+2", "yyyy-MM-dd HH:mm:ss O"),
    ("2024-02-09 03:04:05 GMT+02:00", "yyyy-MM-dd HH:mm:ss OOOO"), ("2024-02-09 03:04:05 GMT", "yyyy-MM-dd HH:mm:ss O"),
    ("2024-02-09 03:04:05 PST", "yyyy-MM-dd HH:mm:ss z"), ("2024-07-09 03:04:05 PST", "yyyy-MM-dd HH:mm:ss z"),
    ("2024-07-09 03:04:05 PDT", "yyyy-MM-dd HH:mm:ss z"), ("2024-07-09 03:04:05 CEST", "yyyy-MM-dd HH:mm:ss z"),
    ("2024-07-09 03:04:05 UTC", "yyyy-MM-dd HH:mm:ss z"), ("2024-07-09 03:04:05 Europe/Paris", "yyyy-MM-dd HH:mm:ss VV"),
    ("2024-07-09 03:04:05 europe/paris", "yyyy-MM-dd HH:mm:ss VV"), ("2024-07-09 03:04:05 +01:00", "yyyy-MM-dd HH:mm:ss VV"),
    ("2024-07-09 03:04:05 Nope", "yyyy-MM-dd HH:mm:ss VV"), ("2024-07-09T03:04:05.123Z", "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]"),
    ("2024-07-09T03:04:05", "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]"), ("2024-07-09t03:04:05", "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]"),
    ("2024-07-09T03:04:05+01:00", "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]"), ("2024-07-09T03:04:05.x", "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]"),
    ("2024-07-09", "yyyy-MM-dd['T'HH:mm]"), ("2024-07-09T10", "yyyy-MM-dd['T'HH[:mm]]"), ("1 BC", "y G"), ("1 bc", "y G"), ("5 Anno Domini", "y GGGG"),
    ("2024", "y G"), ("2024 2024", "yyyy yyyy"), ("2024 2025", "yyyy yyyy"), ("2024-02-31", "yyyy-MM-dd"), ("2023-02-29", "yyyy-MM-dd"),
    ("02-29", "MM-dd"), ("2024-00-10", "yyyy-MM-dd"), ("", "yyyy"), ("", ""), (" 2024", "yyyy"), ("2024 ", "yyyy"), ("2024年02月", "yyyy年MM月"),
    ("2024-03-10 02:30", "yyyy-MM-dd HH:mm"), ("2024-11-03 01:30", "yyyy-MM-dd HH:mm"), ("1700000000", "s"), ("12", "m"), ("60", "m"),
    ("Fri 2024", "EEE yyyy"), ("2024Q1", "yyyy'Q'q"), ("123456789012345678901", "y"), ("999999", "yyyyyy"), ("1234567", "yyyyyy"), ("300000", "yyyyyy"),
    ("1212", "HHmm"), ("121", "HHmm"), ("12121", "HHmm"), ("1212", "Hmm"), ("212", "Hmm"), ("112024", "MdyyyY"), ("112024", "Mdyyyy"), ("12312024", "MMddyyyy")]

out = []

def quote(s):
    return "'" + s.replace("\\", "\\\\").replace("'", "\\'") + "'"

def refused(call, pattern, arg):
    """The condition with which Spark refuses a pattern, or None."""
    try:
        spark.sql(f"SELECT CAST({call}({arg}, {quote(pattern)}) AS STRING)").collect()
    except Exception as e:
        return (e.getCondition() if hasattr(e, "getCondition") else None) or type(e).__name__

def record(zone, asked):
    """asked: (call, arg, pattern, expression) that all give a value or NULL."""
    row = spark.sql("SELECT " + ", ".join(f"CAST({x[3]} AS STRING)" for x in asked)).collect()[0]
    for (call, arg, pattern, _), o in zip(asked, row):
        line = {"call": call, "zone": zone, "arg": arg, "pattern": pattern}
        line.update({"out": o} if o is not None else {"error": "CANNOT_PARSE"})
        out.append(line)

good = []
for p in prints:
    e = refused("date_format", p, "TIMESTAMP'2024-02-09 03:04:05Z'")
    if e:
        out.append({"call": "date_format", "zone": "UTC", "arg": stamps[0] + "Z", "pattern": p, "error": e})
    else:
        good.append(p)
for z in zones:
    spark.conf.set("spark.sql.session.timeZone", z)
    some = stamps if z in ("UTC", "America/Los_Angeles") else stamps[:2] + stamps[4:6]
    record(z, [("date_format", s + "Z", p, f"date_format(TIMESTAMP'{s}Z', {quote(p)})") for p in good for s in some])
calls = {"to_timestamp": "try_to_timestamp", "to_timestamp_ntz": "to_timestamp_ntz", "to_date": "try_to_date"}
for z in ["UTC", "America/Los_Angeles"]:
    spark.conf.set("spark.sql.session.timeZone", z)
    spark.conf.set("spark.sql.ansi.enabled", "false")
    asked = []
    for text, p in reads:
        for call, f in calls.items():
            e = refused(f, p, quote(text)) if z == "UTC" else None
            if e:
                out.append({"call": call, "zone": z, "arg": text, "pattern": p, "error": e})
            elif z == "UTC" or not any(o["pattern"] == p and o.get("error", "CANNOT_PARSE") != "CANNOT_PARSE" for o in out):
                asked.append((call, text, p, f"{f}({quote(text)}, {quote(p)})"))
    record(z, asked)
with open(os.path.join(here, "patterns.jsonl"), "w") as f:
    for o in out:
        f.write(json.dumps(o, ensure_ascii=False) + "\n")
print(len(out))
