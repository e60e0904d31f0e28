"""Removes the listener stream 100 times while events pour in, without the client;
says how many events came after the answer to the removal, and how the streams ended."""
import threading
import uuid

import pyspark.sql.connect.proto as pb
from pyspark.sql import SparkSession

import raw

TIMES = 100

spark = SparkSession.builder.getOrCreate()
raw.SESSION, raw.USER = spark.session_id, pb.UserContext(user_id=spark.client._user_id)
# Every trigger without data tells its idleness at once.
spark.conf.set("spark.sql.streaming.noDataProgressEventInterval", "0")
queries = [spark.readStream.format("rate").load().writeStream.format("noop").start() for _ in range(3)]


def bus(**which):
    return pb.Command(streaming_query_listener_bus_command=pb.StreamingQueryListenerBusCommand(**which))


def release(operation, response):
    request = pb.ReleaseExecuteRequest(session_id=raw.SESSION, user_context=raw.USER, operation_id=operation)
    request.release_until.response_id = response
    list(raw.call("ReleaseExecute", request))


class Reader(threading.Thread):
    """Takes the events of one listener stream as the client does."""

    def __init__(self):
        super().__init__(daemon=True)
        self.flowing, self.removed = threading.Event(), threading.Event()
        self.before = self.after = 0
        self.complete = False

    def run(self):
        operation = str(uuid.uuid4())
        request = raw.execute(command=bus(add_listener_bus_listener=True), session=raw.SESSION,
                              operation=operation, reattachable=True)
        for response in raw.call("ExecutePlan", request):
            self.complete = response.HasField("result_complete")
            events = len(response.streaming_query_listener_events_result.events)
            if self.removed.is_set():
                self.after += events
            else:
                self.before += events
            if self.before > 5:
                self.flowing.set()
            if not self.complete:
                release(operation, response.response_id)


returned = late = complete = events = 0
for _ in range(TIMES):
    reader = Reader()
    reader.start()
    if not reader.flowing.wait(30):
        break
    list(raw.call("ExecutePlan", raw.execute(command=bus(remove_listener_bus_listener=True), session=raw.SESSION)))
    reader.removed.set()
    reader.join(20)
    if reader.is_alive():
        break
    returned += 1
    events += reader.before
    late = max(late, reader.after)
    complete += reader.complete
raw.say("flood", returned=returned, late=late, complete=complete, events=events)
