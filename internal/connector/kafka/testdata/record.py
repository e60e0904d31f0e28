"""Records what the Kafka connector of Apache Spark makes of offsets and ranges, for format_test.go.

    python record.py JARS offsets > offsets.txt
    python record.py JARS ranges > ranges.jsonl

JARS is a folder with spark-sql-kafka-0-10_2.13 4.2.0 and what it needs; PySpark is 4.3.0. Long lines are left out.
"""
import glob
import json
import random
import sys

from pyspark.sql import SparkSession

TOPICS = ["t", "topic1", "form-a", "form-b", "other-c", "orders", "payments", "clicks.v1", "a_b", "Zz", "t-0", "t-1",
          "x" * 40, "events.eu.west", "events.us.east", "k", "kk", "kkk", "audit", "metrics", "logs", "m1", "m2", "m3",
          "m4", "m5"]


def offsets(jvm):
    utils, choice = jvm.org.apache.spark.sql.kafka010.JsonUtils, random.Random(7)
    cases = []
    for _ in range(40):
        case = {}
        for topic in choice.sample(TOPICS, min(len(TOPICS), choice.choice([1, 1, 2, 3, 5, 8, 11, 12, 13, 20, 26]))):
            top = choice.choice([1, 2, 3, 12, 13, 17, 30, 100, 400])
            numbers = range(top) if choice.random() < .6 else sorted(choice.sample(range(1000), min(top, 60)))
            case[topic] = {str(p): choice.choice([0, 1, 5, 2**40]) for p in numbers}
        cases.append(case)
    cases.append({"t": {str(i): i for i in range(11)}})
    cases.append({"t": {str(i * 16): i for i in range(12)}})
    for case in cases:
        line = utils.partitionOffsets(utils.partitionOffsets(json.dumps(case)))
        if len(line) < 3400:
            print(line)


def ranges(jvm):
    kafka, choice = jvm.org.apache.spark.sql.kafka010, random.Random(3)
    convert = jvm.scala.jdk.javaapi.CollectionConverters
    none = jvm.scala.Option.empty()
    for _ in range(40):
        case = []
        for p in range(choice.randint(1, 5)):
            first = choice.randint(0, 50)
            case.append([p, first, first + choice.choice([0, 1, 2, 5, 10, 100, 1000, 3333])])
        least, most = choice.choice([None, 1, 2, 3, 4, 7, 10, 20]), choice.choice([None, None, 1, 3, 50, 700])
        of = jvm.java.util.ArrayList()
        for p, first, end in case:
            of.add(kafka.KafkaOffsetRange(jvm.org.apache.kafka.common.TopicPartition("t", p), first, end, none))
        options = jvm.java.util.HashMap()
        if least:
            options.put("minPartitions", str(least))
        if most:
            options.put("maxRecordsPerPartition", str(most))
        calculator = kafka.KafkaOffsetRangeCalculator.apply(
            jvm.org.apache.spark.sql.util.CaseInsensitiveStringMap(options))
        got = calculator.getRanges(convert.asScala(of).toSeq(), getattr(calculator, "getRanges$default$2")())
        want = [[r.topicPartition().partition(), r.fromOffset(), r.untilOffset()] for r in convert.asJava(got)]
        line = json.dumps({"ranges": case, "least": least or 0, "most": most or 0, "want": want})
        if len(line) < 1500:
            print(line)


jars = ",".join(sorted(glob.glob(sys.argv[1] + "/*.jar")))
spark = SparkSession.builder.master("local[1]").config("spark.jars", jars).config("spark.ui.enabled", "false").getOrCreate()
{"offsets": offsets, "ranges": ranges}[sys.argv[2]](spark._jvm)
