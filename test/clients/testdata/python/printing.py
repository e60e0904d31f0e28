"""Functions in every place of a streaming query, all of which print. Ends with the ids of the queries."""
import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

spark = SparkSession.builder.getOrCreate()
spark.conf.set("spark.sql.execution.pyspark.python", sys.executable)
spark.conf.set("spark.sql.shuffle.partitions", "1")
work = os.environ["WORKDIR"]
spark.range(2).selectExpr("id", "'k' as key").coalesce(1).write.json(work + "/in")
rows = spark.readStream.schema("id long, key string").json(work + "/in")


@F.udf("long")
def doubled(x):
    print("udf", x)
    return 2 * x


@F.udf("long")
def inside(x):
    print("udf of a frame", x)
    return x


def batch(df, n):
    print("foreachBatch", n, df.count())
    os.write(2, b"\xff\x1b[31mred <b>\n")
    df.select(inside("id")).collect()


class Writer:
    def open(self, partition, epoch):
        print("open", partition, epoch)
        return True

    def process(self, row):
        print("process", row.id)

    def close(self, error):
        print("close", error)


def counted(key, frames, state):
    n = sum(len(f) for f in frames)
    print("state", key, n)
    yield __import__("pandas").DataFrame({"key": [key[0]], "n": [n]})


class Counter(StatefulProcessor):
    def init(self, handle):
        self.seen = handle.getValueState("seen", "n int")

    def handleInputRows(self, key, frames, timers):
        import pandas
        print("processor", key, sum(len(f) for f in frames))
        self.seen.update((1,))
        yield pandas.DataFrame({"key": [key[0]]})

    def close(self):
        pass


def dies(df, n):
    os.write(1, b"the last ")
    os.write(1, b"words")
    os._exit(3)


def run(name, writer, mode="append"):
    q = writer.outputMode(mode).option("checkpointLocation", f"{work}/{name}").trigger(availableNow=True).start()
    try:
        q.awaitTermination()
    except Exception as e:
        assert "the last words" in str(e), e
    print(name, q.id)


keyed = rows.groupBy("key")
run("udf", rows.select(doubled("id")).writeStream.format("noop"))
run("foreachBatch", rows.writeStream.foreachBatch(batch))
run("foreach", rows.writeStream.foreach(Writer()))
run("state", keyed.applyInPandasWithState(counted, "key string, n long", "n long", "update", "NoTimeout")
    .writeStream.format("noop"), "update")
spark.conf.set("spark.sql.streaming.stateStore.providerClass",
               "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
run("processor", keyed.transformWithStateInPandas(Counter(), "key string", "update", "None")
    .writeStream.format("noop"), "update")
run("dies", rows.writeStream.foreachBatch(dies))
