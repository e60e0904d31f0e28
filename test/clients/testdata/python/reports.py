"""Functions of foreachBatch that hold what cannot be sent, or do not come alive in the worker. A line for each."""
import os
import re
import sys
import threading
import types

from pyspark import cloudpickle
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.conf.set("spark.sql.execution.pyspark.python", sys.executable)
work = os.environ["WORKDIR"]
spark.range(2).coalesce(1).write.json(work + "/in")
rows = spark.readStream.schema("id long").json(work + "/in")
frame, lock = spark.range(1), threading.Lock()

gone = types.ModuleType("gone_with_the_wind")
exec("def scarlett(x):\n    return x", gone.__dict__)
gone.scarlett.__module__ = gone.__name__
sys.modules[gone.__name__] = gone


class Sulks:
    def __reduce__(self):
        return (exec, ("raise ValueError('it does not want to live')",))


class Misspelt:
    def __reduce__(self):
        return (eval, ("1 +",))


sulks, misspelt = Sulks(), Misspelt()


def tell(label, function):
    try:
        query = rows.writeStream.foreachBatch(function).trigger(availableNow=True).start()
        query.awaitTermination()
        print(label, "ran", flush=True)
    except Exception as e:
        text = str(e)
        found = [w for w in ("SparkSession", "DataFrame", "_thread.lock", "gone_with_the_wind", "it does not want to live",
                             "SyntaxError") if w in text]
        print(label, type(e).__name__, re.findall(r"\[([A-Z_.]+)\]", text)[:1], found, flush=True)


def uses_session(df, n):
    spark.range(1).count()


def uses_frame(df, n):
    frame.count()


def uses_lock(df, n):
    with lock:
        pass


def uses_module(df, n):
    gone.scarlett(1)


def uses_sulks(df, n):
    print(sulks)


def uses_misspelt(df, n):
    print(misspelt)


for function in (uses_session, uses_frame, uses_lock, uses_module, uses_sulks, uses_misspelt):
    tell(function.__name__, function)
