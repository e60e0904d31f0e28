"""Cases that people reported in public, named by their id in reports.tsv."""
import os
import shutil

from pyspark.sql import functions as F

EV = "id int, k string, ts timestamp"
LATE = "batch int, dev string, ts timestamp, v int"


def at(hms, id=1, k="a", day="2024-01-01"):
    return {"id": id, "k": k, "ts": hms if hms is None else day + " " + hms}


def reading(dev, hms, v, day="2026-03-02"):
    return {"dev": dev, "ts": hms if hms is None else day + " " + hms, "v": v}


# A pump and a fan, each list a batch; the third has a row without a time, the fourth a
# clock that is years ahead.
READINGS = [
    [reading("pump-3", "10:00:05", 4), reading("pump-3", "10:00:55", 1), reading("fan-9", "10:01:10", 7)],
    [reading("pump-3", "10:03:00", 2), reading("fan-9", "10:00:30", 9)],
    [reading("fan-9", "10:00:59", 3), reading("pump-3", "10:02:30", 5), reading("pump-3", None, 6)],
    [reading("clock-bad", "00:00:00", 1, "2031-01-01")],
    [reading("pump-3", "10:04:00", 8), reading("fan-9", "10:04:30", 8)],
]


def per_minute(df):
    return df.withWatermark("ts", "30 seconds").groupBy(F.window("ts", "1 minute"), "dev").count()


def play(t, a, batches):
    for n, rows in enumerate(batches):
        a.json(*rows)
        t.step("batch %d" % n)


# ------------------------------------------------------------- watermarks ---

def rep_wm_01(t):
    """Rows that come too late are counted, batch by batch, and one without a time is not."""
    a = t.input()
    t.start("q", per_minute(a.stream(LATE)))
    play(t, a, READINGS)


def rep_wm_02(t):
    """A second aggregation does not take the output of the first for late."""
    a = t.input()
    counts = a.stream(EV).withWatermark("ts", "1 minute").groupBy(F.window("ts", "5 minutes")).count()
    t.start("q", counts.groupBy(F.window(F.window_time("window"), "1 hour")).agg(
        F.sum("count").alias("n"), F.count("*").alias("windows")))
    play(t, a, [
        [at("09:58:00"), at("10:01:00"), at("10:04:00")], [at("10:17:00"), at("10:16:00")],
        [at("10:58:00"), at("10:55:30")], [at("11:20:00"), at("11:07:00")], [at("13:00:00")],
    ])


def rep_wm_04(t):
    """With a delay of nothing a row as old as the newest is late one batch later."""
    a = t.input()
    t.start("q", a.stream(EV).withWatermark("ts", "0 seconds").dropDuplicatesWithinWatermark(["id"]))
    play(t, a, [[at("12:00:00", 1)], [at("12:00:00", 2)], [at("12:00:01", 3)]])


def rep_wm_05(t):
    """A row from years ahead makes honest rows late, and the counts say so."""
    a = t.input()
    t.start("q", per_minute(a.stream(LATE)), mode="update")
    play(t, a, READINGS[:1] + READINGS[3:] + [[reading("fan-9", "10:05:00", 1)]])


def rep_wm_06(t):
    """A watermark that is not among the keys gives nothing up."""
    a = t.input()
    t.start("q", a.stream(LATE).withWatermark("ts", "1 second").groupBy("dev").count(), mode="update")
    play(t, a, [[reading("d%d" % i, "10:%02d:00" % (10 * n), i) for i in range(40 * n, 40 * n + 40)]
                for n in range(4)])


def rep_wm_07(t):
    """A window shows as soon as the watermark has passed it, without another row."""
    a = t.input()
    t.start("q", a.stream(EV).withWatermark("ts", "10 minutes").groupBy(F.window("ts", "10 minutes")).count())
    play(t, a, [[at("12:00:00")], [at("12:21:00")]])


def rep_wm_08(t):
    """A late row counts in those of its sliding windows that are still open."""
    a = t.input()
    t.start("q", a.stream(EV).withWatermark("ts", "0 minutes").groupBy(
        F.window("ts", "10 minutes", "5 minutes")).count(), mode="update")
    play(t, a, [[at("12:10:00")], [at("12:06:00")], [at("12:04:59")]])


def rep_wm_09(t):
    """Files that are younger the older their rows are lose rows, which are counted."""
    a = t.input()
    for hms in ("12:30:00", "12:20:00", "12:10:00"):
        a.json(at(hms), at(hms, 2))
    t.start("q", per_ten(a.stream(EV, maxFilesPerTrigger=1)), trigger={"availableNow": True})
    t.step("all")


def per_ten(df, delay="1 minute"):
    return df.withWatermark("ts", delay).groupBy(F.window("ts", "10 minutes")).count()


def rep_wm_12(t):
    """The event times of progress show the row that is wrong."""
    a = t.input()
    t.start("q", per_minute(a.stream(LATE)))
    play(t, a, [READINGS[0], READINGS[0][:1] + READINGS[3]])


def rep_wm_13(t):
    """availableNow leaves nothing for the next run: the last batch closes what can be."""
    a = t.input()
    orders = [[at("09:00:00", 1), at("09:00:10", 2)], [at("09:20:00", 3)], [at("09:00:20", 4)]]
    for rows in orders:
        a.json(*rows)
    df = per_ten(a.stream(EV, maxFilesPerTrigger=1))
    t.start("q", df, sink="json", trigger={"availableNow": True})
    t.step("first run")
    t.restart("q")
    t.step("second run")


# ---------------------------------------------------------------- windows ---

def rep_wt_01(t):
    """Windows before the epoch hold their rows."""
    a = t.input()
    t.start("q", a.stream(EV).groupBy(F.window("ts", "10 seconds", "10 seconds", "5 seconds")).count(),
            mode="complete")
    a.json(at("23:59:52", day="1969-12-31"), at("23:59:59.999999", day="1969-12-31"), at("00:00:00", day="1970-01-01"))
    t.step("one")


def rep_wt_03(t):
    """Days are cut at midnight UTC, or where startTime says."""
    a = t.input()
    src = a.stream("ts timestamp")
    t.start("utc", src.groupBy(F.window("ts", "1 day")).count(), mode="complete")
    t.start("local", src.groupBy(F.window("ts", "1 day", startTime="7 hours")).count(), mode="complete")
    a.json({"ts": "2026-03-09T06:59:59Z"}, {"ts": "2026-03-09T07:00:00Z"})
    t.step("one")


def rep_wt_04(t):
    """startTime with sliding windows begins none before the first that can hold a row."""
    a = t.input()
    t.start("q", a.stream(EV).groupBy(F.window("ts", "5 seconds", "4 seconds", "3 seconds")).count(), mode="complete")
    a.json(at("09:00:10"), at("09:00:11"), at("09:00:12"))
    t.step("one")


def rep_wt_05(t):
    """The session's zone changes what is printed and not the instants."""
    a = t.input()
    a.json({"id": 1, "ts": "2026-03-09T06:59:59Z"}, {"id": 2, "ts": "2026-03-09T07:30:00Z"})
    for n, zone in enumerate(("UTC", "America/Los_Angeles", "Asia/Kathmandu")):
        t.conf("spark.sql.session.timeZone", zone)
        w = a.stream("id int, ts timestamp").groupBy(F.window("ts", "1 hour")).count()
        t.start("q%d" % n, w.select(
            F.unix_micros("window.start").alias("start"), F.col("window.start").cast("string").alias("text"), "count"),
            mode="complete", trigger={"availableNow": True})
        t.step(zone, "q%d" % n)


def sessions(df, gap="5 seconds"):
    return df.withWatermark("ts", "0 seconds").groupBy(F.session_window("ts", gap), "k").count()


def rep_wt_07(t):
    """Rows whose gap is nothing, negative or no interval."""
    a = t.input()
    src = a.stream("id int, k string, ts timestamp, gap string")
    t.start("q", src.withWatermark("ts", "0 seconds").groupBy(F.session_window("ts", F.col("gap")), "k").count())
    rows = [dict(at("00:00:0%d" % i, i, "k%d" % i), gap=g)
            for i, g in enumerate(("0 seconds", "-5 seconds", "bogus", "5 seconds", None))]
    a.json(*rows)
    t.step("gaps")
    a.json(dict(at("00:01:00", 9), gap="1 second"))
    t.step("close")


def rep_wt_08(t):
    """A session ends a gap after its last row; a late row joins it while it is open."""
    a = t.input()
    t.start("q", sessions(a.stream(EV)))
    play(t, a, [[at("00:00:00")], [at("00:00:04", k="b")], [at("00:00:03")], [at("00:00:30", k="b")]])


def rep_wt_09(t):
    """A row that is too late for its session is counted."""
    a = t.input()
    t.start("q", sessions(a.stream(EV)))
    play(t, a, [[at("00:00:00")], [at("00:00:09", k="b")], [at("00:00:03")], [at("00:00:30", k="b")]])


def rep_wt_10(t):
    """Days that a zone skips or has twice an hour of."""
    for n, (zone, instants) in enumerate({
        "Pacific/Apia": ["2011-12-30T09:59:59Z", "2011-12-30T10:00:00Z"],
        "Europe/Berlin": ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-03-29T00:59:59Z"],
    }.items()):
        t.conf("spark.sql.session.timeZone", zone)
        a = t.input("in%d" % n)
        a.json(*({"ts": i} for i in instants))
        src = a.stream("ts timestamp")
        t.start("q%d" % n, src.select(
            F.col("ts").cast("string").alias("ts"), F.to_date("ts").alias("day"),
            F.date_trunc("day", "ts").cast("string").alias("midnight"),
            (F.col("ts") + F.expr("INTERVAL 1 DAY")).cast("string").alias("next"),
            F.unix_seconds(F.col("ts") + F.expr("INTERVAL 1 DAY")).alias("instant")),
            trigger={"availableNow": True})
        t.step(zone, "q%d" % n)


# ------------------------------------------------------------------ joins ---

def order(oid, hms, day="2026-03-02"):
    return {"oid": oid, "ots": day + " " + hms}


def payment(poid, hms, day="2026-03-02"):
    return {"poid": poid, "pts": day + " " + hms}


def shop(t, within="5 seconds", how="leftOuter", delay="0 seconds"):
    o, p = t.input("orders"), t.input("payments")
    orders = o.stream("oid int, ots timestamp").withWatermark("ots", delay)
    payments = p.stream("poid int, pts timestamp").withWatermark("pts", delay)
    cond = F.expr("oid = poid AND pts >= ots AND pts <= ots + INTERVAL %s" % within)
    return o, p, orders.join(payments, cond, how)


def rep_jn_01(t):
    """A row that met its partner is not told again as one without."""
    o, p, joined = shop(t)
    t.start("q", joined)
    o.json(order(1, "09:00:00"), order(2, "09:00:10"))
    t.step("orders")
    p.json(payment(1, "09:00:00"))
    t.step("a payment at the same moment")
    o.json(order(3, "09:20:00"))
    t.step("orders go on")
    p.json(payment(3, "09:24:59"))
    t.step("payments go on")
    o.json(order(5, "10:00:00"))
    t.step("orders close")
    p.json(payment(9, "10:00:00"))
    t.step("both closed")


def rep_jn_05(t):
    """A join that is followed by windows is given up by its own watermark."""
    o, p, joined = shop(t, "10 minutes", "inner")
    t.start("q", joined.groupBy(F.window("ots", "10 minutes")).agg(F.count("*").alias("n"), F.sum("oid").alias("ids")))
    o.json(order(1, "09:00:00"), order(2, "09:04:00"))
    t.step("orders")
    p.json(payment(1, "09:03:00"))
    t.step("a payment")
    o.json(order(3, "09:12:00"))
    t.step("orders go on")
    p.json(payment(2, "09:13:00"), payment(3, "09:14:00"))
    t.step("the last moment of order 2")
    o.json(order(4, "11:00:00"))
    t.step("orders close")
    p.json(payment(4, "11:00:00"))
    t.step("payments close")
    o.json(order(5, "13:00:00"))
    t.step("orders end")
    p.json(payment(5, "13:00:00"))
    t.step("payments end")


def by_window(t, how):
    a, b = t.input("a"), t.input("b")
    left = a.stream("v int, ts timestamp").withWatermark("ts", "0 seconds").select(F.window("ts", "10 minutes").alias("w"), "v")
    right = b.stream("u int, us timestamp").withWatermark("us", "0 seconds").select(F.window("us", "10 minutes").alias("w"), "u")
    t.start("q", left.join(right, "w", how))
    return a, b


def one_moves_an_hour(t, how):
    a, b = by_window(t, how)
    a.json({"v": 1, "ts": "2024-01-01 12:01:00"}, {"v": 2, "ts": "2024-01-01 13:01:00"})
    t.step("left moves time by an hour")
    b.json({"u": 1, "us": "2024-01-01 12:02:00"}, {"u": 2, "us": "2024-01-01 13:02:00"})
    t.step("right does so too")
    a.json({"v": 3, "ts": "2024-01-01 12:03:00"}, {"v": 4, "ts": "2024-01-01 13:03:00"})
    t.step("one too late")
    b.json({"u": 5, "us": "2024-01-01 15:00:00"})
    t.step("right closes")
    a.json({"v": 6, "ts": "2024-01-01 15:00:00"})
    t.step("left closes")


def rep_jn_06(t):
    """Rows of a batch meet before the batch's own watermark gives them up."""
    one_moves_an_hour(t, "inner")


def rep_jn_08(t):
    """A join by windows gives its rows up when the windows are over."""
    one_moves_an_hour(t, "leftOuter")


def rep_jn_10(t):
    """An outer join without watermarks is refused."""
    l = t.spark.readStream.format("rate").load().selectExpr("value AS a")
    r = t.spark.readStream.format("rate").load().selectExpr("value AS b")
    for how in ("leftOuter", "rightOuter", "fullOuter"):
        t.expect_error(how, lambda: t.start("q", l.join(r, F.expr("a = b"), how)))


# ------------------------------------------------- duplicates and limits ---

def rep_dd_01(t):
    """Without the event time among the keys every key stays, and progress shows it."""
    a = t.input()
    t.start("q", a.stream(EV).withWatermark("ts", "1 second").dropDuplicates(["id"]))
    play(t, a, [[at("10:%02d:00" % (10 * n), i) for i in range(30 * n, 30 * n + 40)] for n in range(4)])


def rep_dd_02(t):
    """A key is kept until its first row's time and the delay are behind the watermark."""
    a = t.input()
    t.start("q", a.stream(EV).withWatermark("ts", "10 minutes").dropDuplicatesWithinWatermark(["id"]))
    for hms, id in (("12:00:00", 1), ("12:15:00", 2), ("12:20:00", 3), ("12:40:00", 4)):
        a.json(at(hms, id))
        t.step("at " + hms)
        state = t.spark.read.format("statestore").load(t.ck("q"))
        t.rows("keys after " + hms, state.select("key", "value"))


def rep_dd_03(t):
    """The column of the watermark need not be among the keys."""
    a = t.input()
    t.start("q", a.stream(EV).withWatermark("ts", "10 seconds").dropDuplicates(["id"]))
    play(t, a, [[at("12:00:00", 1), at("12:00:01", 1)], [at("12:10:00", 2), at("12:10:00", 1)], [at("12:00:00", 3)]])


def rep_dd_05(t):
    """A limit is over the whole stream, and what stands below it keeps its state."""
    a = t.input()
    t.start("q", a.stream(EV).dropDuplicates(["id"]).limit(3), sink="json")
    a.json(at("12:00:00", 1), at("12:00:00", 1), at("12:00:00", 2))
    t.step("two")
    t.stop("q")
    a.json(at("12:00:00", 2), at("12:00:00", 3), at("12:00:00", 3))
    t.restart("q")
    t.step("the third after a restart")
    a.json(at("12:00:00", 4), at("12:00:00", 1))
    t.step("no more")


def rep_dd_06(t):
    """Two columns of one name after a join: which of them are keys."""
    a = t.input()
    static = t.spark.createDataFrame([(1, "x"), (1, "y"), (2, "z")], "id int, tag string")
    src = a.stream("id int, k string")
    both = src.join(static, src["id"] == static["id"])
    t.start("q", both.select(src["id"].alias("i"), "k", "tag").dropDuplicates(["i"]).groupBy().count(), mode="complete")
    t.expect_error("a name that two columns have", lambda: both.dropDuplicates(["id"]).schema)
    a.json({"id": 1, "k": "a"}, {"id": 1, "k": "b"}, {"id": 2, "k": "c"})
    t.step("one")


# ------------------------------------------------------ state, checkpoints ---

def rep_st_01(t):
    """The number of partitions of the state is the checkpoint's."""
    a = t.input()
    df = a.stream(EV).groupBy("k").count()
    t.start("q", df, mode="complete")
    a.json(at("12:00:00", k="a"), at("12:00:00", k="b"))
    t.step("with 4")
    t.stop("q")
    t.conf("spark.sql.shuffle.partitions", "7")
    t.restart("q")
    a.json(at("12:00:00", k="b"), at("12:00:00", k="c"))
    t.step("with 7")


def rep_st_02(t):
    """Aggregates of one type that change places at a restart."""
    a = t.input()
    src = a.stream(EV)
    t.start("q", src.groupBy("k").agg(F.min("id").alias("x"), F.max("id").alias("y")), mode="complete")
    a.json(at("12:00:00", 1), at("12:00:00", 9))
    t.step("one")
    t.stop("q")
    a.json(at("12:00:00", 5))
    t.restart("q", src.groupBy("k").agg(F.max("id").alias("x"), F.min("id").alias("y")))
    t.step("swapped")


def rep_st_04(t):
    """A checkpoint without its state stops the query."""
    a = t.input()
    t.start("q", a.stream(EV).groupBy("k").count(), mode="complete")
    a.json(at("12:00:00"))
    t.step("one")
    t.stop("q")
    shutil.rmtree(os.path.join(t.ck("q"), "state"))
    a.json(at("12:00:01"))
    t.restart("q")
    t.step("without state")


def rep_st_08(t):
    """What a query keeps is a table: now, as of an earlier batch, of every operator."""
    a = t.input()
    t.start("q", a.stream(EV).dropDuplicates(["id", "k"]).groupBy("k").count(), mode="complete")
    play(t, a, [[at("12:00:00", 1, "a"), at("12:00:00", 2, "b")], [at("12:00:00", 1, "a"), at("12:00:00", 3, "a")]])
    read = t.spark.read.format("statestore").option("path", t.ck("q"))
    for operator in (0, 1):
        t.rows("operator %d" % operator, read.option("operatorId", operator).load().select("key", "value"))
        t.rows("operator %d before" % operator,
               read.option("operatorId", operator).option("batchId", 0).load().select("key", "value"))
    t.rows("operators", t.spark.read.format("state-metadata").load(t.ck("q")).select(
        "operatorId", "operatorName", "stateStoreName", "numPartitions"))


def rep_ck_01(t):
    """A checkpoint without its metadata file."""
    a = t.input()
    t.start("q", a.stream(EV).select("id"), sink="json")
    a.json(at("12:00:00"))
    t.step("one")
    t.stop("q")
    os.remove(os.path.join(t.ck("q"), "metadata"))
    a.json(at("12:00:01", 2))
    t.expect_error("restart", lambda: t.restart("q"))


def rep_ck_08(t):
    """A changed query on an old checkpoint: another mode, another aggregate, no watermark."""
    a = t.input()
    src = a.stream(EV).withWatermark("ts", "1 minute")
    windowed = lambda df: df.groupBy(F.window("ts", "10 minutes"), "k")
    t.start("q", windowed(src).count(), sink="noop", mode="update")
    a.json(at("12:00:00"))
    t.step("one")
    t.stop("q")
    a.json(at("12:01:00"))
    t.restart("q", windowed(src).agg(F.count("*").alias("count"), F.sum("id")))
    t.step("with another aggregate")
    t.stop("q")
    a.json(at("12:02:00"))
    t.restart("q", windowed(a.stream(EV)).count())
    t.step("without a watermark")
    t.stop("q")
    a.json(at("12:03:00"))
    t.restart("q", windowed(src).count(), mode="append")
    t.step("in append mode")


# ------------------------------------------------------------------- files ---

def rep_fs_01(t):
    """latestFirst with a limit reads the oldest files too."""
    a = t.input()
    day = 86400
    for n in range(4):
        a.json(at("12:00:00", n), mtime=a.BASE + 10 * day * n)
    t.start("q", a.stream(EV, latestFirst="true", maxFilesPerTrigger=1).select("id"), trigger={"availableNow": True})
    t.step("all")


def rep_fs_02(t):
    """Each of many files is read once, whatever the limits and restarts."""
    a = t.input()
    for n in range(25):
        a.json(at("12:00:00", n))
    t.start("q", a.stream(EV, maxFilesPerTrigger=3).select("id"), sink="json", trigger={"availableNow": True})
    t.step("all")
    for n in range(25, 29):
        a.json(at("12:00:00", n))
    t.restart("q")
    t.step("four more")


def rep_fs_03(t):
    """A limit beyond the number of files that are kept from a listing."""
    a = t.input()
    for n in range(13):
        a.json(at("12:00:00", n))
    src = a.stream(EV, maxFilesPerTrigger=6, maxCachedFiles=5).select("id")
    t.start("now", src, sink="json", trigger={"availableNow": True})
    t.step("with a pinned end", "now")
    t.start("q", src, sink="json")
    t.step("without", "q")


def rep_fs_06(t):
    """Names that begin with a dot or an underscore are somebody's unfinished files."""
    a = t.input()
    a.json(at("12:00:00", 1), name="_COPYING_.json")
    a.json(at("12:00:00", 2), name=".part.json")
    a.json(at("12:00:00", 3), name="done.json")
    t.start("q", a.stream(EV).select("id"), trigger={"availableNow": True}, sink="json")
    t.step("one")
    os.rename(os.path.join(a.dir, "_COPYING_.json"), os.path.join(a.dir, "copied.json"))
    t.restart("q")
    t.step("renamed")


def rep_fs_08(t):
    """Parquet files that are none: empty, cut off, of another kind."""
    a = t.input()
    good = a.parquet({"id": [1, 2]}, name="good.parquet")
    with open(good, "rb") as f:
        whole = f.read()
    for name, data in (("empty", b""), ("cut", whole[: len(whole) // 2]), ("magic", b"PAR2" + whole[4:-4] + b"PAR2")):
        b = t.input(name)
        b.put(whole, name="a.parquet")
        b.put(data, name="b.parquet")
        t.start("skip_" + name, b.stream("id bigint", fmt="parquet", ignoreCorruptFiles="true"),
                trigger={"availableNow": True})
        t.step("skipped", "skip_" + name)
        t.start("stop_" + name, b.stream("id bigint", fmt="parquet"), trigger={"availableNow": True})
        t.step("stopped", "stop_" + name)


# ---------------------------------------------------- numbers, SQL, JSON ---

def rep_mn_02(t):
    """How many rows each sink says that it wrote."""
    a = t.input()
    src = a.stream(EV)
    for sink in ("memory", "noop", "json", "parquet"):
        t.start(sink, src, sink=sink)
    a.json(*(at("12:00:00", n) for n in range(7)))
    t.step("seven")


def rep_mn_03(t):
    """A union of a stream with itself reads its rows twice."""
    a = t.input()
    src = a.stream(EV).select("id")
    t.start("q", src.union(src))
    a.json(at("12:00:00", 1), at("12:00:00", 2), at("12:00:00", 3))
    t.step("three")


def rep_mn_04(t):
    """Selecting _metadata leaves the counts as they are."""
    a = t.input()
    t.start("q", a.stream(EV).select("id", "_metadata.file_name"))
    a.json(at("12:00:00", 1), at("12:00:00", 2))
    t.step("two")


MALFORMED = [
    '{"id":1,"amt":12.5,"tags":["a"],"loc":{"lat":1,"ok":true},"at":"2026-03-02T09:00:00.123456Z"}',
    '{"id":"2","amt":"3.0","tags":"b","loc":{"lat":"x"},"at":"2026-03-02"}',
    '{"id":3,"amt":1e400,"tags":[],"loc":null,"at":1772442000}',
    '{"id":9223372036854775808,"amt":0.1,"tags":[null],"loc":{},"at":"02.03.2026"}',
    '[{"id":6},{"id":7}]',
    '{"id":8,"amt":4.4',
    '"just text"',
    '',
    '{"ID":10,"Amt":2,"extra":{"deep":[[[[[[1]]]]]]}}',
]
TYPED = "id bigint, amt double, tags array<string>, loc struct<lat:int,ok:boolean>, at timestamp"


def rep_sq_01(t):
    """A field that does not fit leaves the other fields of its row."""
    a = t.input()
    t.start("q", a.stream(TYPED))
    a.json(*MALFORMED[:3])
    t.step("one")


def rep_sq_03(t):
    """An array where an object is expected, with a column for corrupt records."""
    a = t.input()
    t.start("lines", a.stream(TYPED + ", _corrupt_record string"))
    t.start("file", a.stream(TYPED + ", _corrupt_record string", multiLine="true"))
    a.json(MALFORMED[4])
    t.step("one")


def rep_sq_04(t):
    """No line of a file is lost, however malformed."""
    a = t.input()
    t.start("q", a.stream(TYPED).groupBy().count(), mode="complete")
    a.json(*MALFORMED)
    t.step("one")


def rep_sq_05(t):
    """Append without a watermark is refused."""
    src = t.input().stream(EV)
    t.expect_error("windows", lambda: t.start("q", src.groupBy(F.window("ts", "1 minute")).count()))


def rep_sq_06(t):
    """Complete mode without an aggregation is refused."""
    src = t.input().stream(EV)
    t.expect_error("duplicates", lambda: t.start("q", src.dropDuplicates(), mode="complete"))
    t.expect_error("rows", lambda: t.start("q", src, mode="complete"))
