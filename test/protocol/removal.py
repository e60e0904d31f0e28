"""Removes a listener 100 times, each right after a query stopped, and 20 times in a
flood of events, and ends 20 sessions that listen; says how many removals came back
and what went wrong when sessions ended.

The client deadlocks on an event that it has not worked on when removeListener()
begins. None may be on its way by the time that stop() returns. In a flood there
always is one; there the removal may fail, but has to come back.
"""
import json
import os
import threading
import time
import warnings

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

PATIENCE = 20  # seconds


class Terminations(StreamingQueryListener):
    seen = 0

    def onQueryStarted(self, event):
        pass

    onQueryProgress = onQueryIdle = onQueryStarted

    def onQueryTerminated(self, event):
        Terminations.seen += 1


def remove(listener):
    """Whether the removal came back."""
    removal = threading.Thread(target=spark.streams.removeListener, args=(listener,), daemon=True)
    removal.start()
    removal.join(PATIENCE)
    return not removal.is_alive()


def quiet():
    spark.streams.addListener(listener := Terminations())
    stream.writeStream.format("noop").start().stop()
    return remove(listener)


def flooded():
    spark.streams.addListener(listener := Terminations())
    came_back = remove(listener)
    deadline = time.monotonic() + PATIENCE
    while spark.streams._sqlb._listener_bus and time.monotonic() < deadline:
        time.sleep(0.01)  # until the thread of events has dropped the listener
    return came_back and not spark.streams._sqlb._listener_bus


def ended():
    """What is wrong with the end of a session with a listener and a running query."""
    session = SparkSession.builder.remote(os.environ["SPARK_REMOTE"]).create()
    session.streams.addListener(Terminations())
    session.readStream.format("rate").load().writeStream.format("noop").start()
    events = session.streams._sqlb._execution_thread
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        session.stop()
        events.join(PATIENCE)
    # Sessions collected as garbage meanwhile have something to say, too.
    wrong = [str(w.message) for w in said if "Handler thread" in str(w.message)]
    return wrong + ["the thread of events lives"] * events.is_alive()


warnings.simplefilter("ignore")
spark = SparkSession.builder.getOrCreate()
stream = spark.readStream.format("rate").load()
said = {"returned": sum(quiet() for _ in range(100)), "seen": Terminations.seen}
# Every trigger without data tells its idleness at once.
spark.conf.set("spark.sql.streaming.noDataProgressEventInterval", "0")
for _ in range(3):
    stream.writeStream.format("noop").start()
said["flooded"] = sum(flooded() for _ in range(20))
said["wrong"] = [wrong for _ in range(20) for wrong in ended()]
print(json.dumps(said), flush=True)
os._exit(0)
