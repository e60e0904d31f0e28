"""What only a real broker shows: compaction, retention, growth of topics, codecs, large records, listeners."""
import time

from broker import Broker, T0
from cases_source import got, reader, values

VERSIONS = {"broker": "4.4.0", "connector": "spark-sql-kafka-0-10_2.13 4.2.0", "client": "kafka-clients 3.9.2"}


def plain(b, topic):
    """What another client reads of a topic: [partition, offset, value]."""
    return [[p, o, v] for p, o, _, v, _ in b.read(topic)]


def case_compacted(t):
    """A compacted topic, its holes in the middle of batches: the rows are those that another consumer gets."""
    b = Broker(t.broker)
    b.create("more-compact", 1, cleanup_policy="compact", segment_ms=100, min_cleanable_dirty_ratio=0.01,
             min_compaction_lag_ms=0, delete_retention_ms=100)
    for round_ in range(4):
        b.send("more-compact", [{"key": f"k{i}", "value": f"{round_}-{i}", "ts": round_ * 1000 + i} for i in range(20)])
        time.sleep(0.3)
    b.send("more-compact", [{"key": "last", "value": "end", "ts": 9000}])
    b.settle(lambda: len(plain(b, "more-compact")) == 21, 60)      # nothing is left to compact
    q = t.drain(values(reader(t, subscribe="more-compact", startingOffsets="earliest", maxOffsetsPerTrigger="7").load()))
    rows = [r[1:] for r in got(t, "m_compacted")]
    t.put("same_as_another_consumer", rows == plain(b, "more-compact"))
    t.put("holes", len(rows) < 81)
    t.put("newest_of_each_key", sorted({r[2] for r in rows if r[2].startswith("3-")}))
    t.put("batches", len(q.recentProgress))


def case_retention(t):
    """Records that the broker itself removed, while a query that needs them was stopped."""
    b = Broker(t.broker)
    b.create("more-old", 1, segment_ms=100, retention_ms=-1)
    b.seq("more-old", 5)
    df = lambda **o: values(reader(t, subscribe="more-old", startingOffsets="earliest", **o).load())
    t.drain(df(), table="m_old_1")
    b.seq("more-old", 5, first=5)
    time.sleep(0.3)
    now = int((time.time() * 1000 - T0))
    b.send("more-old", [{"value": "fresh", "ts": now}])     # begins a new segment; the old one is older than an hour
    b.configure("more-old", retention_ms=3600_000)
    b.settle(lambda: b.ends("more-old")[0][0] >= 10, 60)
    t.put("fail", t.error(lambda: t.drain(df(), sink="noop")))
    t.drain(df(failOnDataLoss="false"), table="m_old_2")
    t.put("continue", got(t, "m_old_2"))


def case_grown(t):
    """A partition is added while the query runs; it is read from its beginning though the query began at the end."""
    b = Broker(t.broker)
    b.create("more-grown", 1)
    b.seq("more-grown", 3)
    q = (values(reader(t, subscribe="more-grown", startingOffsets="latest").load()).writeStream.format("memory")
         .queryName("m_grown").option("checkpointLocation", t.path("ckpt")).trigger(processingTime="200 milliseconds").start())
    t.until(lambda: q.recentProgress)
    b.grow("more-grown", 2)
    b.seq("more-grown", 4, partition=1)
    b.seq("more-grown", 1, first=3)
    t.until(lambda: t.spark.table("m_grown").count() >= 5)
    t.put("rows", got(t, "m_grown"))
    q.stop()


def case_codecs(t):
    """Every codec, and a record of five megabytes."""
    b = Broker(t.broker)
    b.create("more-codec", 1, max_message_bytes=20_000_000)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        b.send("more-codec", [{"value": f"{codec}-{i}"} for i in range(50)], **{"compression.type": codec, "linger.ms": 50})
    b.send("more-codec", [{"value": "x" * 5_000_000}], **{"message.max.bytes": 20_000_000})
    t.drain(values(reader(t, subscribe="more-codec", startingOffsets="earliest").load()).selectExpr(
        "topic", "partition", "offset", "length(value) size", "left(value, 9) value"))
    t.put("rows", [r[2:] for r in got(t, "m_codecs")])


def case_listener(t):
    """What a listener sees of a source that is behind."""
    from pyspark.sql.streaming import StreamingQueryListener
    b = Broker(t.broker)
    b.create("more-listen", 2)
    b.seq("more-listen", 8, 0)
    b.seq("more-listen", 2, 1)
    seen = []

    class Lag(StreamingQueryListener):
        def onQueryStarted(self, event): pass
        def onQueryIdle(self, event): pass
        def onQueryTerminated(self, event): pass

        def onQueryProgress(self, event):
            for s in event.progress.sources:
                m = s.metrics
                seen.append([s.description, s.numInputRows, m["minOffsetsBehindLatest"], m["maxOffsetsBehindLatest"],
                             float(m["avgOffsetsBehindLatest"])])
    listener = Lag()
    t.spark.streams.addListener(listener)
    try:
        t.drain(values(reader(t, subscribe="more-listen", startingOffsets="earliest", maxOffsetsPerTrigger="5").load()),
                sink="noop")
        t.until(lambda: len([s for s in seen if s[1]]) >= 2, 30)
    finally:
        t.spark.streams.removeListener(listener)
    t.put("seen", [s for s in seen if s[1]])
