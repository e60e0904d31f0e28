"""What the Kafka source does: options, offsets, columns, reports, refusals. Topics are made fresh by each case."""
import json, time
from broker import Broker, T0

VERSIONS = {"broker": "4.4.0", "connector": "spark-sql-kafka-0-10_2.13 4.2.0", "client": "kafka-clients 3.9.2"}
COLS = ("topic", "partition", "offset", "value")


def reader(t, stream=True, **options):
    r = (t.spark.readStream if stream else t.spark.read).format("kafka").option("kafka.bootstrap.servers", t.broker)
    for k, v in options.items():
        r = r.option(k.replace("__", "."), v)
    return r


def values(df):
    return df.selectExpr("topic", "partition", "offset", "cast(value as string) value")


def got(t, table=None):
    return t.rows(t.spark.table(table or "m_" + t.name), "topic", "partition", "offset")


def offsets_log(t, ckpt="ckpt"):
    """Last line of each offsets file: the source's end offset of the batch."""
    files = t.text_files(ckpt)
    return {k: v[-1] for k, v in sorted(files.items()) if k.startswith("offsets/")}


def case_schema(t):
    """Columns of the source with and without headers, streaming and batch."""
    b = Broker(t.broker); b.create("src-schema")
    t.put("columns", t.schema(reader(t, subscribe="src-schema").load()))
    t.put("columns_with_headers", t.schema(reader(t, subscribe="src-schema", includeHeaders="true").load()))
    t.put("batch_equals_stream", t.schema(reader(t, False, subscribe="src-schema").load()) == t.data["columns"])
    t.put("user_schema", t.error(lambda: reader(t, subscribe="src-schema").schema("value string").load().schema))


def case_all_columns(t):
    """One record of each kind with every column; headers with repeated keys, null header values, null key, null value."""
    b = Broker(t.broker); b.create("src-cols")
    b.send("src-cols", [{"value": b"a", "key": b"k", "ts": 0},
                        {"value": None, "key": b"tombstone", "ts": 1500},
                        {"value": b"", "key": None, "ts": 2001, "headers": [("h", b"1"), ("h", b"2"), ("n", None), ("é", "ü".encode())]},
                        {"value": b"\xff\x00", "key": b"", "ts": 500}])
    df = reader(t, False, subscribe="src-cols", includeHeaders="true").load()
    t.put("rows", t.rows(df.selectExpr("key", "value", "topic", "partition", "offset", "cast(timestamp as string) ts", "timestampType", "headers"), "offset"))


def case_starting_offsets(t):
    """startingOffsets earliest, latest and JSON with -2 and -1, and the offset files that result."""
    b = Broker(t.broker); b.create("src-start", 3)
    for p in range(3):
        b.seq("src-start", 4 + p, p)
    for label, opt in (("earliest", "earliest"), ("latest", "latest"), ("LaTeSt", "LaTeSt"),
                       ("json", json.dumps({"src-start": {"0": -2, "1": 3, "2": -1}}))):
        table = "m_start_" + label
        q = t.drain(values(reader(t, subscribe="src-start", startingOffsets=opt).load()), ckpt="ck-" + label, table=table)
        t.put(label, {"rows": got(t, table), "files": t.text_files("ck-" + label), "progress": t.progress(q)})
    q = t.drain(values(reader(t, subscribe="src-start").load()), ckpt="ck-default", table="m_start_default")
    t.put("default_is_latest", {"rows": got(t, "m_start_default"), "files": sorted(t.text_files("ck-default"))})


def case_subscribe_forms(t):
    """subscribe list with spaces, subscribePattern, assign; source description in the reports."""
    b = Broker(t.broker)
    for n in ("form-a", "form-b", "other-c"):
        b.create(n, 2); b.seq(n, 2, 0); b.seq(n, 1, 1)
    for label, o in (("list", {"subscribe": "form-a , form-b"}), ("pattern", {"subscribePattern": "form-.*"}),
                     ("assign", {"assign": json.dumps({"form-a": [1], "other-c": [0]})})):
        q = t.drain(values(reader(t, startingOffsets="earliest", **o).load()), ckpt="ck-" + label, table="m_form_" + label)
        t.put(label, {"rows": got(t, "m_form_" + label), "sources": [p["sources"] for p in t.progress(q)]})


def case_resume(t):
    """A second run continues after the first; startingOffsets is ignored then; an empty run writes no batch."""
    b = Broker(t.broker); b.create("src-resume", 2); b.seq("src-resume", 3, 0); b.seq("src-resume", 2, 1)
    df = lambda start: values(reader(t, subscribe="src-resume", startingOffsets=start).load())
    q1 = t.drain(df("earliest"), table="m_resume_1")
    b.seq("src-resume", 2, 1, first=2)
    q2 = t.drain(df("latest"), table="m_resume_2")
    q3 = t.drain(df("earliest"), table="m_resume_3")
    t.put("first", got(t, "m_resume_1")); t.put("second", got(t, "m_resume_2")); t.put("third", got(t, "m_resume_3"))
    t.put("progress", [t.progress(q) for q in (q1, q2, q3)])
    t.put("files", t.text_files("ckpt"))
    t.put("initial_offset_file", t.read("ckpt", "sources", "0", "0"))


def case_batch_offsets(t):
    """Batch reads: starting and ending offsets, by name, JSON, timestamp; refusals."""
    b = Broker(t.broker); b.create("src-batch", 2); b.seq("src-batch", 5, 0); b.seq("src-batch", 3, 1)
    def run(label, **o):
        t.put(label, t.error(lambda: t.put(label + "_rows", t.rows(values(reader(t, False, subscribe="src-batch", **o).load()), "partition", "offset"))))
        if t.data[label]["raised"] is None:
            del t.data[label]
    j = lambda a, c: json.dumps({"src-batch": {"0": a, "1": c}})
    run("default")
    run("json_range", startingOffsets=j(1, -2), endingOffsets=j(3, -1))
    run("by_timestamp", startingTimestamp=str(T0 + 1000), endingTimestamp=str(T0 + 3000))
    run("by_timestamp_json", startingOffsetsByTimestamp=j(T0, T0 + 1000), endingOffsetsByTimestamp=j(T0 + 2000, T0 + 9000))
    run("end_earliest", endingOffsets="earliest")
    run("end_json_minus2", endingOffsets=j(-2, 1))
    run("start_latest", startingOffsets="latest")
    run("start_json_minus1", startingOffsets=j(-1, 0))
    run("missing_partition", startingOffsets=json.dumps({"src-batch": {"0": 1}}))
    run("extra_partition", startingOffsets=json.dumps({"src-batch": {"0": 1, "1": 0, "7": 0}}))
    run("end_before_start", startingOffsets=j(3, 0), endingOffsets=j(1, 1))
    run("end_past_data", startingOffsets=j(0, 0), endingOffsets=j(9, 1), failOnDataLoss="false",
        kafkaConsumer__pollTimeoutMs="2000")
    run("streaming_only_limit", maxOffsetsPerTrigger="2")


def case_max_offsets(t):
    """maxOffsetsPerTrigger over partitions of unequal backlog: the share of each partition in each batch, and the reports."""
    b = Broker(t.broker); b.create("src-max", 3); b.seq("src-max", 50, 0); b.seq("src-max", 9, 1); b.seq("src-max", 1, 2)
    for limit in (10, 7, 1):
        if limit == 1:
            b.create("src-max1", 3); b.seq("src-max1", 2, 0); b.seq("src-max1", 2, 1); topic = "src-max1"
        else:
            topic = "src-max"
        q = t.drain(values(reader(t, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=str(limit)).load()),
                    ckpt=f"ck-{limit}", table=f"m_max_{limit}")
        t.put(f"limit_{limit}", {"offsets": offsets_log(t, f"ck-{limit}"), "progress": [
            {"batchId": p["batchId"], "numInputRows": p["numInputRows"], "source": p["sources"][0]} for p in t.progress(q)]})


def case_min_offsets(t):
    """minOffsetsPerTrigger waits for enough records; maxTriggerDelay ends the wait; availableNow does not wait."""
    b = Broker(t.broker); b.create("src-min", 1); b.seq("src-min", 3)
    df = lambda **o: values(reader(t, subscribe="src-min", startingOffsets="earliest", **o).load())
    q = t.drain(df(minOffsetsPerTrigger="10"), ckpt="ck-now", table="m_min_now")
    t.put("available_now", [p["numInputRows"] for p in t.progress(q)])
    q = df(minOffsetsPerTrigger="5", maxTriggerDelay="1h").writeStream.format("memory").queryName("m_min_wait") \
        .option("checkpointLocation", t.path("ck-wait")).trigger(processingTime="200 milliseconds").start()
    t.until(lambda: q.status["message"].startswith("Waiting") or q.recentProgress)
    time.sleep(3)
    t.put("first_batch_even_if_too_few", t.spark.table("m_min_wait").count())
    b.seq("src-min", 4, first=3); time.sleep(3)
    t.put("four_more_are_too_few", t.spark.table("m_min_wait").count())
    b.seq("src-min", 1, first=7)
    t.until(lambda: t.spark.table("m_min_wait").count() == 8)
    t.put("five_more_run", t.spark.table("m_min_wait").count()); q.stop()
    t.put("min_greater_than_max", t.error(lambda: t.drain(df(minOffsetsPerTrigger="9", maxOffsetsPerTrigger="3"), ckpt="ck-bad", sink="noop")))


def case_transactions(t):
    """read_committed and read_uncommitted over committed and aborted transactions: rows, offsets, counts, markers at the end."""
    b = Broker(t.broker); b.create("src-txn", 1)
    b.transaction("src-txn", ["c1", "c2"], "tx-a", True)
    b.transaction("src-txn", ["x1", "x2", "x3"], "tx-b", False)
    b.transaction("src-txn", ["c3"], "tx-c", True)
    t.put("log_end", b.ends("src-txn"))
    for level in ("read_uncommitted", "read_committed"):
        q = t.drain(values(reader(t, subscribe="src-txn", startingOffsets="earliest", kafka__isolation__level=level).load()),
                    ckpt="ck-" + level, table="m_txn_" + level)
        t.put(level, {"rows": got(t, "m_txn_" + level), "progress": t.progress(q)})
    q = t.drain(values(reader(t, subscribe="src-txn", startingOffsets="earliest", kafka__isolation__level="read_committed",
                              maxOffsetsPerTrigger="3").load()), ckpt="ck-lim", table="m_txn_lim")
    t.put("committed_limited", {"offsets": offsets_log(t, "ck-lim"), "input": [p["numInputRows"] for p in t.progress(q)]})
    b.transaction("src-txn", ["y1"], "tx-d", False)
    q = t.drain(values(reader(t, subscribe="src-txn", startingOffsets="earliest", kafka__isolation__level="read_committed").load()),
                ckpt="ck-read_committed", table="m_txn_more")
    t.put("only_aborted_left", {"rows": got(t, "m_txn_more"), "progress": t.progress(q)})


def case_truncated(t):
    """Records below the next offset vanish (retention): failOnDataLoss true, then false, on a running checkpoint and on a fresh one."""
    b = Broker(t.broker); b.create("src-loss", 1); b.seq("src-loss", 5)
    df = lambda **o: values(reader(t, subscribe="src-loss", startingOffsets="earliest", **o).load())
    t.drain(df(), table="m_loss_1")
    b.seq("src-loss", 10, first=5); b.truncate("src-loss", 0, 8)
    t.put("log", b.ends("src-loss"))
    t.put("fail", t.error(lambda: t.drain(df(), sink="noop")))
    q = t.drain(df(failOnDataLoss="false"), table="m_loss_2")
    t.put("continue", {"rows": got(t, "m_loss_2"), "progress": t.progress(q)})
    q = t.drain(df(), ckpt="ck-fresh", table="m_loss_3")
    t.put("fresh_start_is_no_loss", [r[2] for r in got(t, "m_loss_3")])
    t.put("explicit_start_below", t.error(lambda: t.drain(values(reader(t, subscribe="src-loss", startingOffsets=json.dumps({"src-loss": {"0": 2}})).load()), ckpt="ck-x", sink="noop")))


def case_topic_recreated(t):
    """The topic is deleted and made again with fewer records than the stored offset."""
    b = Broker(t.broker); b.create("src-again", 1); b.seq("src-again", 6)
    df = lambda **o: values(reader(t, subscribe="src-again", startingOffsets="earliest", **o).load())
    t.drain(df(), table="m_again_1")
    b.create("src-again", 1); b.seq("src-again", 2, first=100)
    t.put("fail", t.error(lambda: t.drain(df(), sink="noop")))
    q = t.drain(df(failOnDataLoss="false"), table="m_again_2")
    t.put("continue", {"rows": got(t, "m_again_2"), "progress": t.progress(q), "files": sorted(t.text_files("ckpt"))})


def case_lag_metrics(t):
    """The report of a limited batch while records are left behind: latestOffset and the three lag metrics."""
    b = Broker(t.broker); b.create("src-lag", 2); b.seq("src-lag", 20, 0); b.seq("src-lag", 4, 1)
    q = reader(t, subscribe="src-lag", startingOffsets="earliest", maxOffsetsPerTrigger="6").load().writeStream.format("noop") \
        .option("checkpointLocation", t.path("ckpt")).trigger(processingTime="0 seconds").start()
    t.until(lambda: len([p for p in q.recentProgress if p.numInputRows]) >= 4); time.sleep(1)
    q.stop()
    t.put("batches", [p for p in t.progress(q) if p["numInputRows"]])
    t.put("idle", [p for p in t.progress(q) if not p["numInputRows"]][:1])


def case_refused_options(t):
    """Options that are refused, at load or at start; with the parameters of the error."""
    b = Broker(t.broker); b.create("src-opt", 1); b.seq("src-opt", 1)
    ok = {"subscribe": "src-opt"}
    bad = {
        "no_strategy": {}, "two_strategies": {"subscribe": "a", "subscribePattern": "b"}, "three": {"subscribe": "a", "assign": "{}", "subscribePattern": "x"},
        "empty_subscribe": {"subscribe": ""}, "blank_list": {"subscribe": " , "}, "empty_pattern": {"subscribePattern": ""}, "bad_pattern": {"subscribePattern": "["},
        "assign_not_json": {"assign": "src-opt"}, "assign_wrong_json": {"assign": '{"src-opt": 1}'}, "assign_list": {"assign": "[]"},
        "starting_word": {**ok, "startingOffsets": "first"}, "starting_json": {**ok, "startingOffsets": '{"src-opt": [0]}'},
        "starting_json_topic": {**ok, "startingOffsets": '{"nope": {"0": 1}}'}, "starting_json_partitions": {**ok, "startingOffsets": '{"src-opt": {}}'},
        "starting_negative": {**ok, "startingOffsets": '{"src-opt": {"0": -3}}'}, "ending_in_stream": {**ok, "endingOffsets": "latest"},
        "ending_ts_in_stream": {**ok, "endingTimestamp": "1"}, "ending_by_ts_in_stream": {**ok, "endingOffsetsByTimestamp": '{"src-opt": {"0": 1}}'},
        "timestamp_word": {**ok, "startingTimestamp": "yesterday"}, "timestamp_negative": {**ok, "startingTimestamp": "-5"},
        "by_timestamp_bad": {**ok, "startingOffsetsByTimestamp": "{bad"}, "max_zero": {**ok, "maxOffsetsPerTrigger": "0"},
        "max_word": {**ok, "maxOffsetsPerTrigger": "many"}, "min_zero": {**ok, "minOffsetsPerTrigger": "0"}, "delay_word": {**ok, "minOffsetsPerTrigger": "5", "maxTriggerDelay": "soon"},
        "min_partitions_zero": {**ok, "minPartitions": "0"}, "min_partitions_word": {**ok, "minPartitions": "x"}, "fail_word": {**ok, "failOnDataLoss": "maybe"},
        "headers_word": {**ok, "includeHeaders": "maybe"}, "poll_word": {**ok, "kafkaConsumer.pollTimeoutMs": "x"}, "retries_word": {**ok, "fetchOffset.numRetries": "x"},
        "group_id_and_prefix": {**ok, "kafka.group.id": "g", "groupIdPrefix": "p"}, "group_id_upper": {**ok, "Kafka.Group.Id": "g"},
        "auto_offset_reset": {**ok, "kafka.auto.offset.reset": "earliest"}, "enable_auto_commit": {**ok, "kafka.enable.auto.commit": "true"},
        "key_deserializer": {**ok, "kafka.key.deserializer": "x.Y"}, "value_deserializer": {**ok, "kafka.value.deserializer": "x.Y"},
        "interceptor": {**ok, "kafka.interceptor.classes": "x.Y"}, "fetch_min": {**ok, "kafka.receive.buffer.bytes": "-9"},
        "unknown_plain": {**ok, "someOtherOption": "1"}, "unknown_kafka": {**ok, "kafka.no.such.setting": "1"}, "bad_kafka_value": {**ok, "kafka.max.poll.records": "x"},
    }
    for label, o in bad.items():
        def go():
            r = t.spark.readStream.format("kafka").option("kafka.bootstrap.servers", t.broker)
            for k, v in o.items():
                r = r.option(k, v)
            d = r.load(); d.schema; stage.append("load")     # a Connect client asks the server only when it needs the columns
            q = d.writeStream.format("noop").option("checkpointLocation", t.path("ck-" + label)).trigger(availableNow=True).start(); stage.append("start")
            if not q.awaitTermination(60):
                q.stop(); raise TimeoutError("still running after 60 s")
        stage = []
        e = t.error(go)
        t.put(label, {"options": o, "got_past": stage[-1] if stage else None, "error": e})
    t.put("no_bootstrap", t.error(lambda: t.spark.readStream.format("kafka").option("subscribe", "x").load().schema))


def case_missing_topic(t):
    """A topic that does not exist: batch and stream (with topic creation by clients switched off)."""
    no = {"kafka__allow__auto__create__topics": "false"}
    t.put("batch", t.error(lambda: reader(t, False, subscribe="src-never", **no).load().count()))
    t.put("pattern_without_match", t.error(lambda: reader(t, False, subscribePattern="zz-never.*").load().count()))
    t.put("stream_pattern_without_match", t.error(lambda: t.drain(reader(t, subscribePattern="zz-never.*").load(), sink="noop")))
