# Runs a PySpark program as __main__ on the server that SPARK_REMOTE names.
import os
import runpy
import sys
import threading
import traceback

# PySpark takes a __main__ without a file for a doctest run and imports its test
# suite, which pyspark-client does not have.
__file__ = os.path.abspath(sys.argv[1])

try:
    from pyspark.sql import SparkSession
except ImportError as missing:
    sys.exit(f"weir run: {sys.executable} has no usable PySpark ({missing}); "
             "install it with: pip install 'pyspark[connect]>=4.0,<4.4' 'pandas<3'")


def ignore_master(builder):
    """Programs written for a classic session name a master; here the server is it."""
    kind = type(builder)
    config = kind.config

    def config_without_master(self, key=None, value=None, **more):
        if key == "spark.master":
            return self
        if isinstance(more.get("map"), dict):
            more["map"] = {k: v for k, v in more["map"].items() if k != "spark.master"}
        return config(self, key, value, **more)

    kind.master = lambda self, master: self
    kind.config = config_without_master


def display(frame, rows=1000):
    """What a notebook's display() shows of a DataFrame, as text."""
    frame.show(rows, truncate=False)


def wait_for_own_threads():
    """A program ends with its last statement and its own threads. Threads of pools end
    later, when Python tells them to."""
    not_own = ("_query_event_handler", "ThreadPoolExecutor")
    for thread in threading.enumerate():
        if thread not in (threading.current_thread(), threading.main_thread()) and not thread.daemon \
                and not any(name in thread.name for name in not_own):
            thread.join()


def let_listeners_go(session):
    """A listener's thread keeps Python running for ever, so listeners are removed."""
    if session is None or session.is_stopped:
        return
    for listener in list(session.streams._sqlb._listener_bus):
        session.streams.removeListener(listener)


def end_with(code):
    """Ends a program that failed. Its listeners are let go of if the server answers; one
    that does not keeps nobody."""
    wait_for_own_threads()
    session = SparkSession.getActiveSession()
    going = threading.Thread(target=let_listeners_go, args=(session,), name="weir-listeners", daemon=True)
    going.start()
    going.join(10)
    if going.is_alive():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def say_what_becomes_of_queries():
    """Queries outlive a program whose server does, and end with one whose server ends with it."""
    session = SparkSession.getActiveSession()
    if os.environ.get("WEIR_SERVER_STAYS") is None or session is None or session.is_stopped:
        return
    for query in session.streams.active:
        name = query.name or query.id
        if os.environ["WEIR_SERVER_STAYS"] == "1":
            print(f"weir: the query {name} runs on in the server; weir stop {name} ends it", file=sys.stderr)
        else:
            print(f"weir: the query {name} ends with its program; query.awaitTermination() keeps both", file=sys.stderr)


def end_with_the_server():
    """The server holds the other end of a pipe for as long as it lives."""
    def wait():
        os.read(int(os.environ["WEIR_SERVER_PIPE"]), 1)
        print("weir: the server is gone, so the program ends", file=sys.stderr, flush=True)
        os._exit(137)

    if os.environ.get("WEIR_SERVER_PIPE"):
        threading.Thread(target=wait, name="weir-server", daemon=True).start()


def own_frames(trace):
    """A traceback from the program's own first frame on."""
    not_own = ("<string>", "<frozen runpy>", runpy.__file__)
    while trace and trace.tb_next and trace.tb_frame.f_code.co_filename in not_own:
        trace = trace.tb_next
    return trace


def tell(kind, error, trace):
    if issubclass(kind, KeyboardInterrupt):
        print("weir: interrupted", file=sys.stderr)
        say_what_becomes_of_queries()
    else:
        traceback.print_exception(kind, error, own_frames(trace))


sys.excepthook = tell
try:
    end_with_the_server()
    ignore_master(SparkSession.builder)
    program, sys.argv = sys.argv[1], sys.argv[1:]
    sys.path[0] = os.path.dirname(__file__)
    names = {"spark": SparkSession.builder.getOrCreate(), "display": display}
    try:
        runpy.run_path(program, init_globals=names, run_name="__main__")
    except SystemExit as e:
        if isinstance(e.code, str):
            print(e.code, file=sys.stderr)
        code = e.code if isinstance(e.code, int) else int(e.code is not None)
        end_with(code)
        sys.exit(code)
    except BaseException:
        tell(*sys.exc_info())
        sys.excepthook = lambda *told: None
        end_with(1)
        raise
    wait_for_own_threads()
    let_listeners_go(SparkSession.getActiveSession())
    say_what_becomes_of_queries()
finally:
    sys.stdout.flush()
