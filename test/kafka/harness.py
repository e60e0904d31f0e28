"""Runs programs over Kafka against a Spark session and keeps what it does, as JSON.

    python harness.py --cases cases_source.py --broker HOST:PORT --out OUT --jars JARS       records Apache Spark
    python harness.py --cases cases_source.py --broker HOST:PORT --check expected --remote sc://HOST:PORT

Without --remote a local JVM session is made; JARS is a folder with spark-sql-kafka-0-10_2.13 4.2.0 and what it needs.
A case is a function case_NAME(t); it calls t.put(key, value) for everything worth keeping. Volatile text (ids, times,
paths) is replaced before it is stored, so that two runs can be compared as plain JSON. How to read an expected file:
recorded holds one key for each observation; an error is {raised, condition, sqlState, parameters, message, causes}.
Its sentences are not compared, nor are causes where one side has none.
"""
import argparse, glob, importlib.util, json, os, re, shutil, sys, tempfile, time, traceback, warnings
warnings.simplefilter("ignore")

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
VOLATILE_PROGRESS = {"id", "runId", "timestamp", "batchDuration", "inputRowsPerSecond", "processedRowsPerSecond"}


class Trace:
    def __init__(self, name, spark, remote, broker):
        self.name, self.spark, self.remote, self.broker = name, spark, remote, broker
        self.dir = tempfile.mkdtemp(prefix="tr-")
        self.data, self._queries = {}, []

    # ---- recording -------------------------------------------------------------------------------------------------
    def put(self, key, value):
        self.data[key] = self.clean(value)
        return value

    def clean(self, v):
        if isinstance(v, dict):
            return {self.clean(k): self.clean(x) for k, x in v.items()}
        if isinstance(v, (list, tuple)):
            return [self.clean(x) for x in v]
        if isinstance(v, (bytes, bytearray)):
            return "0x" + bytes(v).hex()
        if isinstance(v, str):
            v = v.replace("file://" + self.dir, "file:${DIR}").replace(self.dir, "${DIR}")
            v = re.sub(r"@[0-9a-f]{6,8}\b", "@<hash>", v.replace(self.broker, "${BROKER}"))
            return UUID.sub("<uuid>", re.sub(r"(?<=\w)#\d+L?\b", "#n", v))
        if v is None or isinstance(v, (bool, int, float)):
            return v
        return self.clean(str(v))

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def read(self, *parts):
        with open(self.path(*parts), "rb") as f:
            return f.read()

    def text_files(self, *parts, sub=lambda s: s):
        """{relative path: lines} of the visible text files below a folder (checkpoints); checksum companions are skipped."""
        root, out = self.path(*parts), {}
        for folder, _, names in sorted(os.walk(root)):
            for n in sorted(names):
                if n.endswith(".crc") or "/state" in folder:
                    continue
                p = os.path.join(folder, n)
                try:
                    out[os.path.relpath(p, root)] = mask_conf(sub(open(p, "rb").read().decode("utf8"))).split("\n")
                except UnicodeDecodeError:
                    out[os.path.relpath(p, root)] = ["0x" + open(p, "rb").read().hex()]
        return out

    def tree(self, *parts):
        root, out = self.path(*parts), []
        for folder, _, names in sorted(os.walk(root)):
            out += [os.path.relpath(os.path.join(folder, n), root) for n in sorted(names) if not n.endswith(".crc")]
        return out

    # ---- results ---------------------------------------------------------------------------------------------------
    def rows(self, df, *order):
        if order:
            df = df.orderBy(*order)
        return [cell(list(r)) for r in df.collect()]

    def schema(self, df):
        return json.loads(df.schema.json()) if not hasattr(df.schema, "jsonValue") else df.schema.jsonValue()

    def progress(self, q, keep_zero=True):
        """All retained progress reports of a query without ids, times and rates."""
        out = []
        for p in q.recentProgress:
            d = json.loads(p.json) if hasattr(p, "json") and isinstance(p.json, str) else p
            out.append(self.one_progress(d))
        return out

    def one_progress(self, d):
        # Spark Connect leaves out what can be computed or is empty; the JVM session writes it
        d = {"name": None, "stateOperators": [], **{k: v for k, v in d.items() if k not in VOLATILE_PROGRESS}}
        d.setdefault("numInputRows", sum(s["numInputRows"] for s in d.get("sources", [])))
        for k in ("eventTime", "observedMetrics"):
            if not d.get(k):
                d.pop(k, None)
        d["durationMs"] = sorted(d.get("durationMs") or {})
        src = []
        for s in d.get("sources", []):
            s = {k: v for k, v in s.items() if k not in VOLATILE_PROGRESS}
            for k in ("startOffset", "endOffset", "latestOffset"):
                s[k] = maybe_json(s.get(k))
            if not s.get("metrics"):
                s.pop("metrics", None)
            src.append(s)
        d["sources"] = src
        if not d["sink"].get("metrics"):
            d["sink"].pop("metrics", None)
        ops = []
        for o in d.get("stateOperators", []):
            ops.append({k: o.get(k) for k in ("operatorName", "numRowsTotal", "numRowsUpdated", "numRowsRemoved",
                                              "numRowsDroppedByWatermark")})
        d["stateOperators"] = ops
        return d

    # ---- running ---------------------------------------------------------------------------------------------------
    def drain(self, df, ckpt="ckpt", mode="append", sink="memory", options=None, timeout=400, **start):
        """Runs a stream with trigger availableNow to its end; returns the query.

        `sink=memory` leaves the rows in a table named like the case (or `table=`). The memory sink refuses to continue a
        checkpoint, so a second run on the same checkpoint goes to a fresh Parquet folder behind a view of that name.
        """
        view = None
        if sink == "memory" and os.path.isdir(self.path(ckpt, "offsets")):
            view = start.pop("table", "m_" + re.sub(r"\W", "_", self.name))
            folder = self.path("parquet-" + view)
            os.makedirs(folder)
            sink, start = "parquet", {"args": (folder,)}
        w = df.writeStream.outputMode(mode).trigger(availableNow=True).option("checkpointLocation", self.path(ckpt))
        for k, v in (options or {}).items():
            w = w.option(k, v)
        q = w.format(sink)
        if sink == "memory":
            q = q.queryName(start.pop("table", "m_" + re.sub(r"\W", "_", self.name)))
        q = q.start(*start.get("args", ()), **{k: v for k, v in start.items() if k != "args"})
        self.wait(q, timeout)
        if view:
            # the folder's own log lacks the batches that went elsewhere; without it every file counts
            shutil.rmtree(os.path.join(folder, "_spark_metadata"), ignore_errors=True)
            self.spark.read.schema(df.schema).parquet(folder).createOrReplaceTempView(view)
        return q

    def wait(self, q, timeout=400):
        self._queries.append(q)
        if not q.awaitTermination(timeout):
            q.stop()
            raise TimeoutError("the stream did not end by itself")
        return q

    def until(self, cond, seconds=300):
        end = time.time() + seconds
        while time.time() < end:
            v = cond()
            if v:
                return v
            time.sleep(0.1)
        raise TimeoutError("condition not met")

    def error(self, fn):
        """What an action raises: class, condition, SQLSTATE, parameters, first message line, and (JVM session) the cause chain."""
        try:
            fn()
        except Exception as e:   # noqa: the kind of exception is what gets recorded
            return self.describe(e)
        return {"raised": None}

    def describe(self, e):
        d = {"raised": type(e).__name__}
        for key, meth in (("condition", "getCondition"), ("sqlState", "getSqlState"), ("parameters", "getMessageParameters")):
            try:
                d[key] = getattr(e, meth)()
            except Exception:
                d[key] = None
        if d["parameters"] is not None:
            d["parameters"] = {k: mask_plan(v) for k, v in dict(d["parameters"]).items()}
        if d["raised"] == "Py4JJavaError":      # a JVM exception that PySpark does not know; over Spark Connect it has another type
            d["message"] = mask_plan(e.java_exception.toString())
        else:
            d["message"] = mask_plan(str(e))
        d["causes"] = self.causes(e)
        return d

    def causes(self, e):
        out, j = [], getattr(e, "_origin", None) or getattr(e, "_cause", None) or getattr(e, "java_exception", None)
        try:
            seen = 0
            while j is not None and seen < 8:
                c = {"class": j.getClass().getName(), "message": mask_plan(j.getMessage() or "")}
                try:
                    c["condition"], c["sqlState"] = j.getCondition(), j.getSqlState()
                    c["parameters"] = {str(k): mask_plan(str(v)) for k, v in dict(j.getMessageParameters()).items()}
                except Exception:
                    pass
                out.append(c)
                j, seen = j.getCause(), seen + 1
        except Exception:
            return out or None
        return out

    def stream_error(self, q, timeout=400):
        """Waits for a stream to fail and describes the failure (the JVM cause chain where there is one)."""
        self._queries.append(q)
        err = self.error(lambda: q.awaitTermination(timeout))
        try:
            j = q._jsq.exception().get()
            err["causes"] = self.causes(type("E", (), {"_origin": j})())
        except Exception:
            pass
        if err["raised"] is None:
            err["active"] = q.isActive
            q.stop()
        return err

    def close(self):
        for q in self.spark.streams.active:
            try:
                q.stop()
            except Exception:
                pass
        shutil.rmtree(self.dir, ignore_errors=True)


def mask_plan(s):
    """Keeps the message, drops the plan dump and stack below it, and the attribute numbers."""
    s = str(s)
    s = s.split("\n=== Streaming Query ===")[0].split("\n\nJVM stacktrace")[0]
    s = re.sub(r"#\d+L?", "#n", s)
    s = re.sub(r"\b20(2[6-9]|3\d)-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?", "<now>", s)
    # where and when a task failed is of no interest
    s = re.sub(r"in stage \d+\.\d+ \(TID \d+\) \([^)]*executor driver\)", "in stage <n> (TID <n>) (<host> executor driver)", s)
    s = re.sub(r"in stage \d+\.\d+", "in stage <n>", s)
    s = re.sub(r"spark-kafka-source-<?[0-9a-z-]+>?-?-?\d+(-executor|-driver-\d+)?", "spark-kafka-source-<id>", s)
    s = re.sub(r"(/[\w./-]*)?part-\d{5}-<?[0-9a-f-]{36}>?[\w.-]*", "<file>", s)
    return s if len(s) < 4000 else s[:4000] + "…"


def mask_conf(s):
    s = re.sub(r'"batchTimestampMs":\d+', '"batchTimestampMs":0', s)
    return re.sub(r'"spark\.sql\.session\.timeZone":"[^"]*",?', "", s)


def maybe_json(v):
    if isinstance(v, str):
        try:
            return json.loads(v)
        except ValueError:
            return v
    return v


def cell(v):
    if isinstance(v, (list, tuple)):
        if hasattr(v, "asDict"):
            return {k: cell(x) for k, x in v.asDict().items()}
        return [cell(x) for x in v]
    if isinstance(v, dict):
        return {str(k): cell(x) for k, x in v.items()}
    if isinstance(v, (bytes, bytearray)):
        return {"bin": bytes(v).decode("utf8", "backslashreplace")}
    if v is None or isinstance(v, (bool, int, float, str)):
        return v
    return str(v)


def load(path):
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("cases", path)
    m = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(m)
    return m


def session(a):
    from pyspark.sql import SparkSession
    if a.remote:
        return SparkSession.builder.remote(a.remote).getOrCreate()
    jars = ",".join(sorted(glob.glob(os.path.join(a.jars, "*.jar"))))
    b = (SparkSession.builder.master("local[2]").config("spark.jars", jars).config("spark.ui.enabled", "false")
         .config("spark.sql.shuffle.partitions", "2").config("spark.sql.session.timeZone", "UTC")
         .config("spark.driver.memory", "1500m")
         .config("spark.sql.warehouse.dir", tempfile.mkdtemp(prefix="wh-")).config("spark.ui.showConsoleProgress", "false")
         .config("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")
         # interpreted execution: same answers, far less start-up work for queries this small
         .config("spark.sql.codegen.wholeStage", "false").config("spark.sql.codegen.factoryMode", "NO_CODEGEN"))
    return b.getOrCreate()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cases", required=True)
    p.add_argument("--out")
    p.add_argument("--check")
    p.add_argument("--only", nargs="*")
    p.add_argument("--remote")
    p.add_argument("--jars", default="")
    p.add_argument("--broker", default="127.0.0.1:19092")
    p.add_argument("--words", action="store_true", help="compare the sentences of errors too, not only class, condition, SQLSTATE, parameters")
    a = p.parse_args()
    SKIP.update(() if a.words else {"message"})
    m = load(a.cases)
    spark = session(a)
    spark.range(1).count()
    versions = {"spark": spark.version, **getattr(m, "VERSIONS", {})}
    prefix = re.sub(r"^[a-z]+_|\.py$", "", os.path.basename(a.cases)) + "."      # cases_source.py -> source.NAME.json
    passed = failed = 0
    names = [n[5:] for n in vars(m) if n.startswith("case_")]
    for name in names:
        if a.only and not any(re.fullmatch(o, name) for o in a.only):
            continue
        t = Trace(name, spark, a.remote, a.broker)
        began = time.time()
        try:
            getattr(m, "case_" + name)(t)
            crash = None
        except Exception:
            crash = traceback.format_exc()
        t.close()
        doc = {"case": name, "about": (getattr(m, "case_" + name).__doc__ or "").strip(), "versions": versions, "recorded": t.data}
        if crash:
            print(f"CRASH {name} {time.time()-began:.1f}s\n{crash}", flush=True)
            doc["crash"] = crash.splitlines()[-1]
        if a.out:
            os.makedirs(a.out, exist_ok=True)
            with open(os.path.join(a.out, prefix + name + (".crash" if crash else "") + ".json"), "w") as f:
                json.dump(doc, f, indent=1, ensure_ascii=False, sort_keys=False)
                f.write("\n")
        if a.check:
            file = os.path.join(a.check, prefix + name + ".json")
            if not os.path.exists(file):
                continue
            want = json.load(open(file))["recorded"]
            got = json.loads(json.dumps(t.data))
            bad = [k for k in want if not same(want[k], got.get(k))]
            ok = not bad and not crash
            passed, failed = passed + ok, failed + (not ok)
            print(("same   " if ok else "differs"), name, ", ".join(bad), flush=True)
        else:
            passed += not crash
            failed += bool(crash)
            print(f"{'ok' if not crash else 'CRASH'} {name} {time.time()-began:.1f}s", flush=True)
    print(f"{passed} passed, {failed} failed")
    os._exit(1 if failed else 0)


SKIP = set()
PROSE = ("msg", "message", "errorMessage", "reason", "hint", "traceback")


def conditions(text):
    """What a sentence is compared by: the conditions it names in brackets."""
    return re.findall(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]", text)


def same(want, got):
    """Equality, except that JVM-only cause chains are compared only where both sides have them, and an engine may add keys."""
    if isinstance(want, dict) and isinstance(got, dict):
        if "raised" in want and isinstance(want.get("parameters"), dict) and isinstance(got.get("parameters"), dict) and SKIP:
            plain = lambda d: {**d, "parameters": {k: conditions(v) if k in PROSE and isinstance(v, str) else v for k, v in d["parameters"].items()}}
            want, got = plain(want), plain(got)
        return all(same(v, got.get(k)) for k, v in want.items()
                   if not (k == "causes" and not got.get("causes")) and not (k in SKIP and ("raised" in want or "class" in want)))
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(same(x, y) for x, y in zip(want, got))
    return want == got


if __name__ == "__main__":
    main()
