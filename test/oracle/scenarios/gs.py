"""applyInPandasWithState at its edges: timeouts, removal, types, restarts."""
import pandas as pd

from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupStateTimeout

EV = "k string, v int, ts timestamp"
EVENT = GroupStateTimeout.EventTimeTimeout
PROCESSING = GroupStateTimeout.ProcessingTimeTimeout
NONE = GroupStateTimeout.NoTimeout


def row(k, v=1, hms="00:00:00"):
    return {"k": k, "v": v, "ts": "2024-01-01 " + hms}


def says(key, *parts):
    return pd.DataFrame({"k": [key[0]], "what": [" ".join(str(p) for p in parts)]})


def stateful(df, fn, timeout, mode="update", state="n long", out="k string, what string", by="k"):
    return df.groupBy(by).applyInPandasWithState(fn, out, state, mode, timeout)


def base(ms):
    return ms - 1704067200000


def gs_timeout_kept(t):
    """A timeout that is not set again stays unless the state is updated; a function that
    leaves a timed-out state alone is called again."""
    a = t.input()

    def fn(key, frames, state):
        vs = [int(v) for f in frames for v in f["v"]]
        yield says(key, state.hasTimedOut, sorted(vs), state.getOption, base(state.getCurrentWatermarkMs()))
        if state.hasTimedOut:
            return
        if 1 in vs:  # state and timeout
            state.update((1,))
            state.setTimeoutTimestamp(state.getCurrentWatermarkMs() + 10000)
        if 3 in vs:  # a new state alone
            state.update((3,))
        if 4 in vs:  # a timeout without state
            state.setTimeoutTimestamp(state.getCurrentWatermarkMs() + 10000)
    df = a.stream(EV).withWatermark("ts", "0 seconds")
    t.start("q", stateful(df, fn, EVENT), mode="update")
    a.json(row("z", 0, "00:00:05"))
    t.step("watermark 5")
    a.json(row("a", 1, "00:00:06"), row("b", 1, "00:00:06"), row("c", 4, "00:00:06"), row("d", 1, "00:00:06"))
    t.step("timeouts at 15")
    a.json(row("a", 2, "00:00:08"), row("b", 3, "00:00:08"))
    t.step("a does nothing, b updates")
    a.json(row("y", 0, "00:00:20"))
    t.step("beyond 15")
    a.json(row("y", 0, "00:00:21"))
    t.step("once more")


def gs_timeout_and_data(t):
    """Data for a key and its timeout in one batch; a removed state with a timeout; late rows."""
    a = t.input()

    def fn(key, frames, state):
        vs = [int(v) for f in frames for v in f["v"]]
        yield says(key, state.hasTimedOut, sorted(vs), state.exists, state.getOption)
        if state.hasTimedOut:
            state.remove()
        elif 9 in vs:
            state.remove()
            state.setTimeoutTimestamp(state.getCurrentWatermarkMs() + 5000)
        else:
            state.update((sum(vs),))
            state.setTimeoutTimestamp(state.getCurrentWatermarkMs() + 1000)
    df = a.stream(EV).withWatermark("ts", "0 seconds")
    t.start("q", stateful(df, fn, EVENT), mode="update")
    a.json(row("z", 0, "00:00:05"))
    t.step("watermark 5")
    a.json(row("a", 1, "00:00:10"), row("b", 9, "00:00:10"))
    t.step("a to 6, b to 10")
    a.json(row("a", 2, "00:00:20"), row("a", 100, "00:00:04"), row("c", 100, "00:00:10"))
    t.step("a again, late rows")
    a.json(row("y", 1, "00:01:00"))
    t.step("all out")


def gs_processing_time(t):
    """Processing-time timeouts: a batch for every trigger, each tells the same time."""
    a = t.input()

    def fn(key, frames, state):
        n = sum(len(f) for f in frames)
        if state.hasTimedOut:
            yield says(key, "timed out", state.getOption)
            state.remove()
        else:
            yield says(key, "rows", n, state.getCurrentProcessingTimeMs() > 1704067200000)
            state.update((n,))
            state.setTimeoutDuration(500)
    a.json(row("a"), row("a"), row("b"))
    q = t.start("q", stateful(a.stream(EV), fn, PROCESSING), mode="update", checkpoint="",
                trigger={"processingTime": "200 milliseconds"})
    t.wait(lambda: sum(1 for r in t.spark.table("q").collect() if r.what.startswith("timed")) == 2)
    q.stop()
    t.rows("all", t.spark.table("q"))


def gs_once(t):
    """A processing-time timeout under once: it waits for the next start."""
    a = t.input()

    def fn(key, frames, state):
        n = sum(len(f) for f in frames)
        yield says(key, state.hasTimedOut, n, state.getOption)
        state.update((n,))
        state.setTimeoutDuration(1)
    a.json(row("a"))
    t.start("q", stateful(a.stream(EV), fn, PROCESSING), mode="update", trigger={"once": True}, sink="batches")
    t.step("first")
    t.restart("q")
    t.step("second")
    a.json(row("b"))
    t.restart("q")
    t.step("third")


def gs_types(t):
    """States of many types, NULL keys, keys of several columns; a restart in between."""
    a = t.input()
    schema = "k string, v int, ts timestamp, d decimal(10,2), l array<int>"

    def fn(key, frames, state):
        whole = pd.concat(list(frames))
        seen = state.getOption
        text = "%s %s %s %s %s" % (tuple(str(x) for x in key), list(whole.columns), len(whole), state.exists, seen)
        yield pd.DataFrame({"k": [key[0]], "n": [None if seen is None else seen[0]], "what": [text]})
        first = whole.iloc[0]
        state.update((int(whole["v"].sum()), first["ts"].to_pydatetime(), first["d"], None, b"\x00\x01", True,
                      first["ts"].date(), 1.5, first["v"]))
    df = a.stream(schema).withColumn("odd", F.expr("v % 2")).groupBy("k", "odd").applyInPandasWithState(
        fn, "k string, n long, what string",
        "n long, t timestamp, d decimal(10,2), s string, bin binary, b boolean, day date, x double, i short",
        "append", NONE)
    t.start("q", df, mode="append", sink="batches")
    a.json(dict(row("a", 1, "01:02:03"), d=1.25, l=[1, 2]), dict(row("a", 2, "01:02:03"), d=2.5, l=[]),
           dict(row(None, 2, "01:02:03"), d=2.5, l=[3]))
    t.step("one")
    t.restart("q")
    a.json(dict(row("a", 3, "01:02:04"), d=3.75, l=[7]), dict(row(None, 4, "01:02:05"), d=0, l=[8]))
    t.step("two")


def gs_changed_state(t):
    """Another state schema, and another timeout, on the same checkpoint."""
    a = t.input()

    def fn(key, frames, state):
        yield says(key, sum(len(f) for f in frames), state.getOption)
        state.update((1,))
    df = a.stream(EV).withWatermark("ts", "0 seconds")
    t.start("q", stateful(df, fn, NONE), mode="update", sink="batches")
    a.json(row("a"))
    t.step("one")
    t.restart("q", stateful(df, fn, NONE, state="n string"))
    a.json(row("a"))
    t.step("a text")
    t.restart("q", stateful(df, fn, EVENT))
    a.json(row("a", 1, "00:00:01"))
    t.step("with a timeout")
    t.restart("q", stateful(df, fn, NONE, state="m long"))
    a.json(row("a", 1, "00:00:02"))
    t.step("another name")


def failing(t, label, fn, timeout=EVENT, out="k string, what string", state="n long"):
    a = t.input(label.replace(" ", "_"))
    df = a.stream(EV).withWatermark("ts", "0 seconds")
    name = label.replace(" ", "_")
    t.start(name, stateful(df, fn, timeout, out=out, state=state), mode="update")
    a.json(row("a", 1, "00:00:05"))
    t.step(label, name)
    t.stop(name)


def gs_wrong_calls(t):
    """What GroupState refuses."""
    def no_state(key, frames, state):
        yield says(key, state.get)

    def duration(key, frames, state):
        state.setTimeoutDuration(1)
        yield says(key)

    def nothing(key, frames, state):
        state.update(None)
        yield says(key)

    def early(key, frames, state):
        state.setTimeoutTimestamp(-5)
        yield says(key)
    failing(t, "no state", no_state)
    failing(t, "duration", duration)
    failing(t, "nothing", nothing)
    failing(t, "early", early)


def gs_wrong_results(t):
    """What a function must not return."""
    def frame(key, frames, state):
        return says(key)

    def number(key, frames, state):
        return 1

    def numbers(key, frames, state):
        return [1]

    def columns(key, frames, state):
        yield pd.DataFrame({"k": ["a"]})

    def names(key, frames, state):
        yield pd.DataFrame({"k": ["a"], "other": ["b"]})

    def types(key, frames, state):
        yield pd.DataFrame({"k": ["a"], "what": [[1]]})

    def bad_state(key, frames, state):
        state.update(("text",))
        yield says(key)
    failing(t, "frame", frame, NONE)
    failing(t, "number", number, NONE)
    failing(t, "numbers", numbers, NONE)
    failing(t, "columns", columns, NONE)
    failing(t, "names", names, NONE)
    failing(t, "bad state", bad_state, NONE)


def gs_chained(t):
    """An append function below an aggregation and above another; the watermark goes on."""
    a = t.input()

    def fn(key, frames, state):
        for f in frames:
            yield f[["k", "v", "ts"]]
    df = a.stream(EV).withWatermark("ts", "0 seconds")
    one = stateful(df, fn, NONE, "append", out="k string, v int, ts timestamp")
    t.expect_error("no watermark above", lambda: t.start(
        "e", one.groupBy(F.window("ts", "10 seconds"), "k").count(), mode="append"))
    again = one.withWatermark("ts", "0 seconds")
    t.expect_error("watermark above", lambda: t.start(
        "f", again.groupBy(F.window("ts", "10 seconds"), "k").count(), mode="append"))
    t.expect_error("after an aggregation", lambda: t.start("g", stateful(
        df.groupBy("k", F.window("ts", "10 seconds")).count(), fn, NONE, "append", out="k string"), mode="append"))
    t.expect_error("two", lambda: t.start("h", stateful(one, fn, NONE, "append", out="k string"), mode="append"))
    t.expect_error("two updates", lambda: t.start("i", stateful(
        stateful(df, fn, NONE, "update", out="k string"), fn, NONE, "update", out="k string"), mode="update"))
    t.expect_error("join", lambda: t.start("j", stateful(df, fn, NONE, "update", out="k string, j int").join(
        a.stream(EV), "k"), mode="update"))
    t.expect_error("dedup", lambda: t.start("k", stateful(df, fn, NONE, "update", out="k string, j int")
                                            .dropDuplicates(["k"]), mode="update"))
    timed = stateful(df, fn, EVENT, "append", out="k string, v int, ts timestamp").withWatermark("ts", "0 seconds")
    t.expect_error("timed, counted", lambda: t.start(
        "l", timed.groupBy(F.window("ts", "10 seconds"), "k").count(), mode="append"))
    t.expect_error("timed, once each", lambda: t.start("m", timed.dropDuplicates(["k"]), mode="append"))
    t.expect_error("timed, once each by time", lambda: t.start("n", timed.dropDuplicates(["k", "ts"]), mode="append"))
    t.expect_error("counted, below", lambda: t.start("o", stateful(
        df.dropDuplicates(["k", "ts"]), fn, NONE, "append", out="k string"), mode="append"))
    t.expect_error("limited", lambda: t.start("p", stateful(df, fn, NONE, "append", out="k string").limit(3),
                                              mode="append"))


def gs_many(t):
    """Many keys over several partitions, rows in the order of keys, big groups in parts."""
    a = t.input()
    t.conf("spark.sql.execution.arrow.maxRecordsPerBatch", "10")

    def fn(key, frames, state):
        sizes = [len(f) for f in frames]
        before = state.get[0] if state.exists else 0
        state.update((before + sum(sizes),))
        yield pd.DataFrame({"k": [key[0]], "n": [before + sum(sizes)], "whole": [max(sizes) <= 10]})
    df = stateful(a.stream(EV), fn, NONE, out="k string, n long, whole boolean")
    t.start("q", df, mode="update")
    a.json(*[row("k%d" % (i % 13), i) for i in range(200)])
    t.step("one")
    a.json(*[row("k%d" % (i % 5), i) for i in range(200)])
    t.step("two")
