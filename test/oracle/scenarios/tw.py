"""transformWithState at its edges: lists, maps, time to live, timers, first states, changes, mistakes."""
import time

import pandas as pd

from pyspark.sql import Row, functions as F
from pyspark.sql.streaming import StatefulProcessor

EV = "k string, v int, ts timestamp"
OUT = "k string, what string"
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def row(k, v=1, hms="00:00:00"):
    return {"k": k, "v": v, "ts": "2024-01-01 " + hms}


def says(key, *parts):
    return pd.DataFrame({"k": [key[0]], "what": [" ".join(str(p) for p in parts)]})


def base(ms):
    return ms - 1704067200000 if ms > 0 else ms


def values(rows):
    return sorted(int(v) for f in rows for v in f["v"])


class Base(StatefulProcessor):
    def init(self, handle):
        self.handle = handle

    def close(self):
        pass


def tws(t, df, processor, mode="update", time_mode="None", initial=None, out=OUT, **more):
    t.conf("spark.sql.streaming.stateStore.providerClass", ROCKS)
    return df.groupBy("k").transformWithStateInPandas(processor, out, mode, time_mode, initial, **more)


class Lists(Base):
    def init(self, handle):
        self.l = handle.getListState("l", "a int, b string")

    def handleInputRows(self, key, rows, timers):
        before = list(self.l.get())
        there = self.l.exists()
        for v in values(rows):
            if v == 0:
                self.l.clear()
            elif v == 1:
                self.l.put([(1, "x"), (2, None)])
            elif v == 2:
                self.l.appendValue((v, "y"))
            elif v == 3:
                self.l.appendList([(3, "p"), (4, "q"), (5, "r")])
        yield says(key, there, before, self.l.exists(), list(self.l.get()))


def tw_list(t):
    """How the operations of lists are counted, one a batch."""
    a = t.input()
    t.start("q", tws(t, a.stream(EV), Lists()), mode="update")
    for i, (k, v) in enumerate([("a", 2), ("b", 3), ("d", 1), ("a", 3), ("b", 1), ("d", 0), ("a", 0), ("a", 0)]):
        a.json(row(k, v))
        t.step("%d: %s %d" % (i, k, v))


class Maps(Base):
    def init(self, handle):
        self.m = handle.getMapState("m", "id int", "n long, s string")

    def handleInputRows(self, key, rows, timers):
        there = self.m.exists()
        for v in values(rows):
            if v == 0:
                self.m.clear()
            elif v < 0:
                self.m.removeKey((-v,))
            else:
                old = self.m.getValue((v,)) if self.m.containsKey((v,)) else (0, None)
                self.m.updateValue((v,), (old[0] + 1, "n%d" % v))
        yield says(key, there, self.m.exists(), sorted(self.m.iterator()), sorted(self.m.keys()),
                   sorted(self.m.values()), self.m.getValue((77,)))


def tw_map(t):
    """A map state: update, remove, clear, read."""
    a = t.input()
    t.start("q", tws(t, a.stream(EV), Maps()), mode="update")
    a.json(row("a", 1), row("a", 2), row("b", 1), row("c", -5))
    t.step("one")
    a.json(row("a", 1), row("a", -2), row("b", 0), row("c", 7))
    t.step("two")
    a.json(row("a", 99), row("b", 3), row("c", -7))
    t.step("three")
    a.json(row("a", 98), row("b", 98), row("c", 98))
    t.step("four")


class Mixed(Base):
    def init(self, handle):
        self.handle = handle
        self.n = handle.getValueState("n", "n long, at timestamp, d decimal(10,2), f double, s string, b binary")
        self.l = handle.getListState("l", "x int")
        self.m = handle.getMapState("m", "a string, b int", "c int")

    def handleInputRows(self, key, rows, timers):
        before = self.n.get()
        whole = pd.concat(list(rows))
        for i, v in enumerate(whole["v"]):
            self.l.appendValue((v,))
            self.m.updateValue(("k", v), (i,))
        first = whole.iloc[0]
        self.n.update((whole["v"].sum(), first["ts"], None, 1.5, "text", b"\x00"))
        yield says(key, list(whole.columns), self.n.exists(), before, self.n.get(),
                   [x[0] for x in self.l.get()], sorted(self.m.iterator()),
                   timers.getCurrentWatermarkInMs(), timers.getCurrentProcessingTimeInMs())


def tw_mixed(t):
    """Several variables of many types; NULL keys; a restart in between; the state seen as tables."""
    a = t.input()
    t.start("q", tws(t, a.stream(EV), Mixed()), mode="update", sink="batches")
    a.json(row("a", 1, "01:02:03"), row("a", 2, "01:02:03"), row(None, 2, "01:02:04"))
    t.step("one")
    t.restart("q")
    a.json(row("a", 3, "01:02:04"), row(None, 4, "01:02:05"), row("b", 4, "01:02:05"))
    t.step("two")


def tw_statestore(t):
    """The state of a processor as tables."""
    a = t.input()
    t.start("q", tws(t, a.stream(EV), Mixed()), mode="update", sink="batches")
    a.json(row("a", 1, "01:02:03"), row("a", 2, "01:02:03"), row(None, 2, "01:02:04"))
    t.step("one")
    t.stop("q")
    ck = t.ck("q")
    read = t.spark.read.format("statestore")
    for name in ("n", "l", "m"):
        t.expect_error("statestore " + name, lambda: t.rows(
            name, read.option("stateVarName", name).load(ck).drop("partition_id")))
    t.expect_error("unknown variable", lambda: read.option("stateVarName", "zz").load(ck).collect())
    t.expect_error("metadata", lambda: t.rows("meta", t.spark.read.format("state-metadata").load(ck)))


class Rows(StatefulProcessor):
    def init(self, handle):
        self.n = handle.getValueState("n", "n long")
        self.l = handle.getListState("l", "x int")

    def handleInputRows(self, key, rows, timers):
        rows = list(rows)
        n = (self.n.get()[0] if self.n.exists() else 0) + len(rows)
        self.n.update((n,))
        self.l.appendList([(r.v,) for r in rows])
        for r in sorted(rows, key=lambda r: (r.v is None, r.v)):
            yield Row(k=key[0], n=n, what="%s %s %s %s" % (type(key).__name__, r.__fields__, r,
                                                             [x[0] for x in self.l.get()]))

    def close(self):
        pass


def tw_rows(t):
    """The interface with rows: what rows look like, NULLs."""
    a = t.input()
    t.conf("spark.sql.streaming.stateStore.providerClass", ROCKS)
    df = a.stream(EV).groupBy("k").transformWithState(Rows(), "k string, n long, what string", "update", "None")
    t.start("q", df, mode="update")
    a.json(row("a", 1, "01:02:03"), row(None, 2, "01:02:03"), row("b", None, "01:02:03"))
    t.step("one")
    a.json(row("a", 3), row("a", 4), row(None, 5))
    t.step("two")


class Timers(Base):
    """What the numbers ask for: 1 a timer in 10 s, 2 two timers, 3 to take the first away, 4 one that is over,
    5 one that begins another."""

    def init(self, handle):
        self.handle = handle
        self.n = handle.getValueState("n", "n long")

    def handleInputRows(self, key, rows, timers):
        now = timers.getCurrentWatermarkInMs()
        for v in values(rows):
            if v in (1, 5):
                self.handle.registerTimer(now + 10000)
            elif v == 2:
                self.handle.registerTimer(now + 10000)
                self.handle.registerTimer(now + 20000)
                self.handle.registerTimer(now + 10000)
            elif v == 3:
                self.handle.deleteTimer(sorted(self.handle.listTimers())[0])
            elif v == 4:
                self.handle.registerTimer(max(1, now - 1000))
            self.n.update((v,))
        yield says(key, base(now), timers.getCurrentProcessingTimeInMs() > 0,
                   sorted(base(x) for x in self.handle.listTimers()))

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        now, info = timerValues.getCurrentWatermarkInMs(), expiredTimerInfo
        n = self.n.get()
        if n == (5,):
            self.handle.registerTimer(now + 10000)
            self.n.clear()
        yield says(key, "timer", base(info.getExpiryTimeInMs()), base(now), n,
                   sorted(base(x) for x in self.handle.listTimers()))


def tw_timers(t):
    """Event-time timers: several, listed, taken away, over before they begin, begun by others; late rows."""
    a = t.input()
    df = tws(t, a.stream(EV).withWatermark("ts", "0 seconds"), Timers(), "append", "EventTime")
    t.start("q", df, mode="append")
    a.json(row("z", 0, "00:00:05"))
    t.step("watermark 5")
    a.json(*[row("k%d" % v, v, "00:00:10") for v in (1, 2, 4, 5)])
    t.step("timers at 15 and 25")
    a.json(row("k2", 3, "00:00:12"), row("k1", 7, "00:00:10"), row("late", 7, "00:00:04"))
    t.step("one less, late rows")
    a.json(row("y", 0, "00:00:15"))
    t.step("at 15")
    a.json(row("y", 0, "00:00:16"))
    t.step("beyond 15")
    a.json(row("y", 0, "00:01:00"))
    t.step("beyond all")


class Clock(Base):
    def handleInputRows(self, key, rows, timers):
        now = timers.getCurrentProcessingTimeInMs()
        self.handle.registerTimer(now + 1000)
        yield says(key, values(rows), now > 1704067200000, timers.getCurrentWatermarkInMs())

    def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
        now, info = timerValues.getCurrentProcessingTimeInMs(), expiredTimerInfo
        yield says(key, "timer", now > info.getExpiryTimeInMs(), now - info.getExpiryTimeInMs() < 60000)


def tw_processing_time(t):
    """Timers of the clock, one batch at a time."""
    a = t.input()
    a.json(row("a", 1), row("b", 2))
    t.start("q", tws(t, a.stream(EV), Clock(), "update", "ProcessingTime"), mode="update", sink="batches",
            trigger={"once": True})
    t.step("first")
    time.sleep(1.5)
    a.json(row("c", 3))
    t.restart("q")
    t.step("second")
    time.sleep(1.5)
    a.json(row("d", 3))
    t.restart("q")
    t.step("third")


class Short(Base):
    """Variables that live a millisecond, and for ever."""

    def init(self, handle):
        self.v, self.vv = (handle.getValueState("v%d" % i, "n int", ms) for i, ms in enumerate(LIVES))
        self.l, self.ll = (handle.getListState("l%d" % i, "n int", ms) for i, ms in enumerate(LIVES))
        self.m, self.mm = (handle.getMapState("m%d" % i, "k int", "n int", ms) for i, ms in enumerate(LIVES))

    def look(self):
        return [(v.get(), v.exists(), list(l.get()), l.exists(), sorted(m.iterator()), m.exists(), m.getValue((1,)),
                 m.containsKey((1,)), sorted(m.keys()), sorted(m.values()))
                for v, l, m in ((self.v, self.l, self.m), (self.vv, self.ll, self.mm))]

    def handleInputRows(self, key, rows, timers):
        before = self.look()
        for v in values(rows):
            for s in (self.v, self.vv):
                s.update((v,))
            for s in (self.l, self.ll):
                s.appendValue((v,))
            for s in (self.m, self.mm):
                s.updateValue((v,), (v,))
        yield says(key, before, self.look())


LIVES = (1, 1000000000)


def tw_ttl(t):
    """Values, elements and entries that do not live until the next batch, and some that do."""
    a = t.input()
    a.json(row("a", 1), row("b", 1))
    t.start("q", tws(t, a.stream(EV), Short(), "update", "ProcessingTime"), mode="update", sink="batches",
            trigger={"once": True})
    t.step("first")
    a.json(row("a", 2))
    t.restart("q")
    t.step("second")
    a.json(row("a", 3), row("b", 3))
    t.restart("q")
    t.step("third")
    a.json(row("c", 4))
    t.restart("q")
    t.step("fourth")


class First(Base):
    def init(self, handle):
        self.n = handle.getValueState("n", "n long")

    def handleInitialState(self, key, initial, timers):
        n = self.n.get()[0] if self.n.exists() else 0
        self.n.update((n + int(initial["start"].sum()),))

    def handleInputRows(self, key, rows, timers):
        n = self.n.get()[0] if self.n.exists() else None
        self.n.update(((n or 0) + len(values(rows)),))
        yield says(key, n, self.n.get())


class FirstRows(First):
    def handleInitialState(self, key, initial, timers):
        n = self.n.get()[0] if self.n.exists() else 0
        self.n.update((n + initial.start,))

    def handleInputRows(self, key, rows, timers):
        n = self.n.get()[0] if self.n.exists() else None
        self.n.update(((n or 0) + len(list(rows)),))
        yield Row(k=key[0], what="%s %s" % (n, self.n.get()))


def tw_initial(t):
    """A relation that the states begin from."""
    a, b = t.input(), t.input("b")
    first = t.spark.createDataFrame([("a", 100), ("a", 10), ("x", 7)], "key string, start long")
    t.start("q", tws(t, a.stream(EV), First(), initial=first.groupBy("key")), mode="update", sink="batches")
    a.json(row("a"), row("b"))
    t.step("one")
    t.restart("q")
    a.json(row("a"), row("x"), row("b"))
    t.step("two")
    t.stop("q")
    t.start("r", b.stream(EV).groupBy("k").transformWithState(
        FirstRows(), OUT, "update", "None", first.limit(2).groupBy("key")), mode="update")
    b.json(row("a"), row("b"))
    t.step("rows", "r")


class Named(Base):
    """Variables by their description."""

    def __init__(self, *variables):
        self.variables = variables

    def init(self, handle):
        self.have = {}
        for kind, name, *rest in self.variables:
            if kind == "delete":
                handle.deleteIfExists(name)
            else:
                self.have[name] = getattr(handle, "get%sState" % kind)(name, *rest)

    def handleInputRows(self, key, rows, timers):
        values(rows)
        said = []
        for kind, name, *rest in self.variables:
            s = self.have.get(name)
            if kind == "Value":
                said.append((name, s.get()))
                s.update((1,) if "," not in rest[0] else (1, 2))
            elif kind == "List":
                said.append((name, list(s.get())))
                s.appendValue((1,))
        yield says(key, *said)


def changing(t):
    a = t.input()

    def go(label, *variables, **more):
        df = tws(t, a.stream(EV), Named(*variables), **more)
        mode = more.get("mode", "update")
        if "q" in t.queries:
            t.restart("q", df, mode=mode)
        else:
            t.start("q", df, mode=mode, sink="batches")
        a.json(row("a"))
        t.step(label)
    return go


def tw_changed(t):
    """Variables that come, go and are deleted."""
    go = changing(t)
    go("one variable", ("Value", "n", "n long"))
    go("one more", ("Value", "n", "n long"), ("List", "l", "x int"))
    go("the first away", ("List", "l", "x int"))
    go("back", ("Value", "n", "n long"), ("List", "l", "x int"))
    go("deleted", ("delete", "n"), ("List", "l", "x int"))
    go("anew", ("Value", "n", "n string"), ("List", "l", "x int"))


def tw_changed_wrong(t):
    """Variables and processors that change in ways that their state does not go with, and the name of a field."""
    go = changing(t)
    go("one", ("Value", "n", "n long"))
    go("another name of a field", ("Value", "n", "m long"))
    go("another type", ("Value", "n", "n string"))
    go("another kind", ("List", "n", "n long"))
    go("another time mode", ("Value", "n", "n long"), time_mode="ProcessingTime")
    go("another mode", ("Value", "n", "n long"), mode="append")


def failing(t, label, processor, time_mode="None", **more):
    name = label.replace(" ", "_")
    a = t.input(name)
    df = a.stream(EV)
    if time_mode == "EventTime":
        df = df.withWatermark("ts", "0 seconds")
    t.start(name, tws(t, df, processor, time_mode=time_mode, **more), mode="update", checkpoint="")
    a.json(row("a", 1, "00:00:05"))
    t.step(label, name)
    t.stop(name)


def doing(setup=None, rows=None, timer=None):
    class Does(Base):
        def init(self, handle):
            self.handle = handle
            if setup:
                self.s = setup(handle)

        def handleInputRows(self, key, frames, timers):
            list(frames)
            yield says(key, rows(self) if rows else None)
    return Does()


def tw_wrong_init(t):
    """A time to live without a clock."""
    failing(t, "ttl without time", doing(lambda h: h.getValueState("n", "n int", 1000)))
    failing(t, "ttl by event time", doing(lambda h: h.getListState("n", "n int", 1000)), "EventTime")


def tw_wrong_rows(t):
    """What a function must not do with rows and states."""
    value = lambda h: h.getValueState("n", "n int")  # noqa: E731
    failing(t, "timer without time", doing(rows=lambda p: p.handle.registerTimer(5)))
    failing(t, "late variable", doing(rows=lambda p: p.handle.getValueState("n", "n int")))
    failing(t, "late delete", doing(rows=lambda p: p.handle.deleteIfExists("n")))
    failing(t, "none", doing(value, lambda p: p.s.update(None)))
    failing(t, "no tuple", doing(value, lambda p: p.s.update(5)))
    failing(t, "too long", doing(value, lambda p: p.s.update((5, 6))))
    failing(t, "wrong type", doing(value, lambda p: (p.s.update(("x",)), p.s.get())))
    failing(t, "wrong type of a list", doing(lambda h: h.getListState("n", "n int"),
                                             lambda p: (p.s.put([("x",), (1,)]), list(p.s.get()))))
    failing(t, "empty list", doing(lambda h: h.getListState("n", "n int"), lambda p: p.s.put([])))
    failing(t, "nothing appended", doing(lambda h: h.getListState("n", "n int"), lambda p: p.s.appendValue(None)))
    failing(t, "no key", doing(lambda h: h.getMapState("n", "k int", "n int"), lambda p: p.s.getValue(None)))
    failing(t, "raises", doing(value, lambda p: 1 // 0))


def tw_wrong_results(t):
    """What a function must not return."""
    def returning(result):
        class Returns(Base):
            def handleInputRows(self, key, frames, timers):
                list(frames)
                return result
        return Returns()
    failing(t, "frame", returning(pd.DataFrame({"k": ["a"], "what": ["b"]})))
    failing(t, "none", returning(None))
    failing(t, "numbers", returning(iter([1])))
    failing(t, "columns", returning(iter([pd.DataFrame({"k": ["a"]})])))
    failing(t, "names", returning(iter([pd.DataFrame({"k": ["a"], "other": ["b"]})])))
    failing(t, "empty", returning(iter([])))


class Passing(Base):
    def init(self, handle):
        self.n = handle.getValueState("n", "n long")

    def handleInputRows(self, key, rows, timers):
        for f in rows:
            yield f[["k", "v", "ts"]]


def tw_chained(t):
    """An event-time column that goes on to a window; what may not stand above and below."""
    a = t.input()
    src = a.stream(EV).withWatermark("ts", "0 seconds")
    out = "k string, v int, ts timestamp"
    one = tws(t, src, Passing(), "append", "EventTime", out=out, eventTimeColumnName="ts")
    counts = one.groupBy(F.window("ts", "10 seconds"), "k").agg(F.sum("v").alias("n"))
    t.start("q", counts.select("window.start", "k", "n"), mode="append")
    a.json(row("a", 1, "00:00:05"), row("a", 2, "00:00:06"), row("b", 5, "00:00:07"))
    t.step("one")
    a.json(row("a", 3, "00:00:11"), row("a", 9, "00:00:04"))
    t.step("two")
    a.json(row("a", 4, "00:00:30"))
    t.step("three")


def tw_around(t):
    """What may not stand above and below."""
    a = t.input()
    src = a.stream(EV).withWatermark("ts", "0 seconds")
    out = "k string, v int, ts timestamp"
    one = tws(t, src, Passing(), "append", "EventTime", out=out, eventTimeColumnName="ts")
    plain = tws(t, src, Passing(), "append", "EventTime", out=out)
    t.expect_error("no event time above", lambda: t.start(
        "e", plain.groupBy(F.window("ts", "10 seconds")).count(), mode="append"))
    t.expect_error("watermark anew", lambda: t.start("f", plain.withWatermark("ts", "0 seconds").groupBy(
        F.window("ts", "10 seconds")).count(), mode="append"))
    t.expect_error("two", lambda: t.start("g", tws(t, one, Passing(), "append", "EventTime", out=out), mode="append"))
    t.expect_error("after an aggregation", lambda: t.start("h", tws(
        t, src.groupBy("k", F.window("ts", "10 seconds")).count(), Passing(), "append", "None"), mode="append"))
    t.expect_error("below an aggregation in update mode", lambda: t.start("i", tws(
        t, src, Passing(), "update", "None", out=out).groupBy("k").count(), mode="update"))
    t.expect_error("no such column", lambda: t.start("j", tws(
        t, src, Passing(), "append", "EventTime", out=out, eventTimeColumnName="zz"), mode="append"))
    t.expect_error("no watermark below", lambda: t.start("l", tws(
        t, a.stream(EV), Passing(), "append", "None", out=out, eventTimeColumnName="ts"), mode="append"))
    t.expect_error("dedup", lambda: t.start("m", one.dropDuplicates(["k", "ts"]), mode="append"))
    t.expect_error("join", lambda: t.start("n", one.join(src.select("k"), "k"), mode="append"))
    t.expect_error("limit", lambda: t.start("o", one.limit(3), mode="append"))


class Early(Base):
    def handleInputRows(self, key, rows, timers):
        list(rows)
        yield pd.DataFrame({"k": [key[0]], "ts": [pd.Timestamp("2024-01-01 00:00:01")]})


def tw_emits_late(t):
    """An event time before the watermark, from a function that names its event-time column."""
    a = t.input()
    src = a.stream(EV).withWatermark("ts", "0 seconds")
    one = tws(t, src, Early(), "append", "EventTime", out="k string, ts timestamp", eventTimeColumnName="ts")
    t.start("q", one, mode="append")
    a.json(row("a", 1, "00:00:05"))
    t.step("one")
    a.json(row("a", 1, "00:00:10"))
    t.step("two")


def tw_late(t):
    """Rows that come too late, without and with event time."""
    for mode in ("None", "EventTime"):
        a = t.input(mode)
        src = a.stream(EV).withWatermark("ts", "0 seconds")
        t.start(mode, tws(t, src, doing(), "update", mode), mode="update")
        a.json(row("a", 1, "00:00:10"))
        t.step("one", mode)
        a.json(row("a", 1, "00:00:05"), row("b", 1, "00:00:10"), row("c", 1, "00:00:11"))
        t.step("two", mode)
        t.stop(mode)


def tw_batch(t):
    """Without a stream."""
    t.conf("spark.sql.streaming.stateStore.providerClass", ROCKS)
    df = t.spark.createDataFrame([("a", 1), ("a", 2), ("b", 3)], "k string, v int")
    t.expect_error("lists", lambda: t.rows("lists", tws(t, df, Lists())))
    t.expect_error("timers", lambda: t.rows("timers", tws(t, df, Clock(), "update", "ProcessingTime")))
    t.expect_error("first states", lambda: t.rows("first", tws(t, df, First(), initial=t.spark.createDataFrame(
        [("a", 100), ("x", 7)], "key string, start long").groupBy("key"))))


def tw_many(t):
    """Many keys, big groups, big lists and maps."""
    a = t.input()
    t.conf("spark.sql.execution.arrow.maxRecordsPerBatch", "10")

    class Many(Base):
        def init(self, handle):
            self.n = handle.getValueState("n", "n long")
            self.l = handle.getListState("l", "n long")
            self.m = handle.getMapState("m", "n long", "n long")

        def handleInputRows(self, key, rows, timers):
            sizes = []
            for f in rows:
                sizes.append(len(f))
                self.l.appendList([(int(v),) for v in f["v"]])
                for v in f["v"]:
                    self.m.updateValue((int(v),), (int(v) * 2,))
            self.n.update(((self.n.get() or (0,))[0] + sum(sizes),))
            yield says(key, max(sizes) <= 10, self.n.get()[0], len(list(self.l.get())), len(list(self.m.keys())),
                       sum(x[0] for x in self.m.values()), self.m.getValue((5,)), self.m.containsKey((17,)))
    t.start("q", tws(t, a.stream(EV), Many()), mode="update")
    a.json(*[row("k%d" % (i % 13), i) for i in range(200)])
    t.step("one")
    a.json(*[row("k%d" % (i % 3), i) for i in range(1000)])
    t.step("two")
    a.json(*[row("k%d" % (i % 13), i) for i in range(13)])
    t.step("three")
