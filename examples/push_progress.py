"""Show the streaming queries of an Apache Spark application in weir, without event logs.

A listener sends what Spark tells it of its queries to `weir fleet --push`, which shows
them with weir's own pages, verdicts, history and alerts:

    weir fleet --push --http 127.0.0.1:4040
    WEIR_FLEET=http://127.0.0.1:4040 spark-submit push_progress.py

Your own application needs the class and one line, `spark.streams.addListener(...)`.
"""
import json
import os
import queue
import threading
import urllib.error
import urllib.request

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener


class PushToWeir(StreamingQueryListener):
    """Sends events from a thread of its own: no batch waits for weir, and when weir is away
    the oldest events are dropped and counted."""

    def __init__(self, spark, url, token=None, waiting=1000):
        self.url, self.token, self.csrf = url.rstrip("/"), token, None
        self.application = {
            "id": spark.conf.get("spark.app.id"), "name": spark.conf.get("spark.app.name"), "version": spark.version,
        }
        self.events, self.dropped = queue.Queue(waiting), 0
        self.running, self.changed = set(), threading.Condition()
        threading.Thread(target=self.run, daemon=True).start()

    def onQueryStarted(self, event):
        with self.changed:
            self.running.add(event.runId)
        self.put({"event": "started", "id": str(event.id), "runId": str(event.runId), "name": event.name,
                  "timestamp": event.timestamp})

    def onQueryProgress(self, event):
        self.put({"event": "progress", "progress": json.loads(event.progress.json)})

    def onQueryIdle(self, event):
        self.put({"event": "idle", "id": str(event.id), "runId": str(event.runId), "timestamp": event.timestamp})

    def onQueryTerminated(self, event):
        self.put({"event": "terminated", "id": str(event.id), "runId": str(event.runId), "exception": event.exception,
                  "errorClassOnException": event.errorClassOnException})
        with self.changed:
            self.running.discard(event.runId)
            self.changed.notify_all()

    def put(self, event):
        while True:
            try:
                return self.events.put_nowait(event)
            except queue.Full:
                try:
                    self.events.get_nowait()
                    self.events.task_done()
                    self.dropped += 1
                except queue.Empty:
                    pass

    def run(self):
        wait = threading.Event()
        while True:
            batch = [self.events.get()]
            while len(batch) < 100 and not self.events.empty():
                batch.append(self.events.get())
            for seconds in (1, 2, 4, 8, None):
                try:
                    self.send(batch)
                    break
                except (OSError, ValueError) as error:
                    if seconds is None:
                        self.dropped += len(batch)
                        print("weir takes no progress:", error, flush=True)
                    else:
                        wait.wait(seconds)
            for _ in batch:
                self.events.task_done()

    def send(self, events):
        """Sending the same twice is fine: weir knows a batch by its number."""
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        else:  # from the same user of the same machine; the word shows that no web page sends it
            if self.csrf is None:
                with urllib.request.urlopen(self.url + "/api/v1/csrf", timeout=10) as answer:
                    self.csrf = json.load(answer)["csrf"]
            headers["X-Weir-Csrf"] = self.csrf
        body = json.dumps({"application": self.application, "events": events}).encode()
        request = urllib.request.Request(self.url + "/api/v1/progress", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                done = json.load(answer)
        except urllib.error.HTTPError as error:
            self.csrf = None  # another server may answer by now
            raise ValueError(f"{error.code}: {error.read().decode(errors='replace')}") from error
        if done["refused"]:
            print("weir refused", done["refused"], "events:", done["problem"], flush=True)

    def flush(self, seconds=30):
        """Waits until Spark has told the end of every query, and everything was sent or given up."""
        with self.changed:
            self.changed.wait_for(lambda: not self.running, seconds)
        self.events.join()


def main():
    spark = SparkSession.builder.appName("push example").getOrCreate()
    listener = PushToWeir(spark, os.environ.get("WEIR_FLEET", "http://127.0.0.1:4040"), os.environ.get("WEIR_TOKEN"))
    spark.streams.addListener(listener)
    numbers = spark.readStream.format("rate").option("rowsPerSecond", 20).load()
    query = numbers.writeStream.queryName("numbers").format("noop").trigger(processingTime="1 second").start()
    failing = (numbers.selectExpr("assert_true(value < 30) AS ok").writeStream.queryName("failing").format("noop")
               .trigger(processingTime="1 second").start())
    try:
        failing.awaitTermination(60)
    except Exception as error:  # it is meant to fail
        print("failing has failed:", type(error).__name__, flush=True)
    query.awaitTermination(float(os.environ.get("DEMO_SECONDS", "10")))
    query.stop()
    done = [p.batchId for p in query.recentProgress if "addBatch" in p.durationMs]
    rows = sum(p.numInputRows for p in query.recentProgress)
    listener.flush()
    spark.streams.removeListener(listener)
    print("numbers:", len(done), "batches,", rows, "rows;", listener.dropped, "events dropped", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
