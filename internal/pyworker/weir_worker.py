"""Runs the functions of users for weir, one process a query or a pool's share.

weir starts it with a socket on descriptor 3 and the reading end of a pipe on
descriptor 4. Frames on the socket are a length (4 bytes, big endian), a kind and
a payload; calls are JSON, functions are pickles, rows are Arrow streams of one
batch each. When the pipe ends, weir is gone, and so is this process.

Only what PySpark 4.0 and later have in common is used of it.
"""

import atexit
import copy
import datetime
import decimal
import inspect
import json
import os
import signal
import socket
import struct
import sys
import threading
import traceback

import pyspark
from pyspark import cloudpickle
from pyspark.util import fail_on_stopiteration

VERSION = 1

CALL, PICKLE, ROWS, NEED = b"J", b"B", b"A", b"N"
GROUP, END, DONE, ERROR = b"G", b"Z", b"D", b"E"
CHANGES, ASK = b"S", b"Q"


# --- the socket ---


class Channel:
    """Frames to and from weir."""

    def __init__(self, descriptor):
        self.socket = socket.socket(fileno=descriptor)
        self.file = self.socket.makefile("rb", buffering=1 << 16)
        self.owner = os.getpid()

    def only_owner(self):
        """A child that a function forked off and that comes back here must not speak."""
        if os.getpid() != self.owner:
            os._exit(1)

    def send(self, kind, payload=b""):
        self.only_owner()
        head = struct.pack(">I", len(payload) + 1) + kind
        if len(payload) < 1 << 16:
            self.socket.sendall(head + bytes(payload))
        else:
            self.socket.sendall(head)
            self.socket.sendall(payload)

    def receive(self):
        """The next frame; None when weir has hung up."""
        self.only_owner()
        head = self.file.read(5)
        if len(head) < 5:
            return None, None
        size = struct.unpack(">I", head[:4])[0] - 1
        payload = self.file.read(size)
        if len(payload) < size:
            return None, None
        return head[4:], payload

    def groups(self):
        """What a call works on: lists of Arrow batches, asked for one by one."""
        while True:
            self.send(NEED)
            batches = []
            while True:
                kind, payload = self.receive()
                if kind == ROWS:
                    batches.append(read_batch(payload))
                elif kind == GROUP:
                    break
                elif kind == END:
                    return
                else:
                    raise EOFError("weir has gone")
            yield batches

    def turns(self):
        """What a call with state works on: many groups at a time."""
        while True:
            self.send(NEED)
            turn = self.turn()
            if turn is None:
                return
            yield turn

    def turn(self):
        """Named Arrow batches, and a note about them; None when there are no more."""
        batches = []
        while True:
            kind, payload = self.receive()
            if kind == ROWS:
                batches.append(read_batch(payload))
            elif kind == GROUP:
                return Turn(json.loads(payload), batches)
            elif kind == END:
                return None
            else:
                raise EOFError("weir has gone")

    def change(self, table, batch):
        """Hands changes to a table of the state over."""
        if batch.num_rows:
            self.send(CHANGES, bytes([table]) + write_batch(batch).to_pybytes())

    def give(self, batch):
        """Hands an Arrow batch of results over, in parts that are not too big."""
        for start in range(0, batch.num_rows, 10000):
            self.send(ROWS, write_batch(batch.slice(start, 10000)))


class Turn:
    """Groups that a function with state works on, or the answer to a question."""

    def __init__(self, end, batches):
        self.note = end["note"]
        self.parts = {}
        for part, batch in zip(end["parts"], batches):
            self.parts.setdefault((part["name"], part["number"]), []).append(batch)

    def all(self, name, number=0):
        return self.parts.get((name, number), [])

    def one(self, name, number=0):
        found = self.all(name, number)
        return found[0] if found else None


def read_batch(payload):
    import pyarrow as pa

    return pa.ipc.open_stream(payload).read_next_batch()


def read_schema(text):
    import base64

    import pyarrow as pa

    return pa.ipc.open_stream(base64.b64decode(text)).schema


def write_batch(batch):
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def live_with(descriptor):
    """Ends this process and those it started when the pipe does."""

    def wait():
        while os.read(descriptor, 1):
            pass
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=wait, name="weir", daemon=True).start()


# --- what went wrong ---

OURS = "weir_worker.py"
LIBRARY = os.path.dirname(os.path.abspath(pyspark.__file__)) + os.sep


def is_users(frame):
    return frame.filename != OURS and not os.path.abspath(frame.filename).startswith(LIBRARY)


def without_ours(report, seen):
    """Leaves the frames of the user's own code, if there are any."""
    if report is None or id(report) in seen:
        return
    seen.add(id(report))
    kept = [f for f in report.stack if is_users(f)]
    if kept:
        report.stack = traceback.StackSummary.from_list(kept)
    else:
        report.stack = traceback.StackSummary.from_list([f for f in report.stack if f.filename != OURS])
    without_ours(report.__cause__, seen)
    without_ours(report.__context__, seen)


class Told(Exception):
    """A mistake in a call that no frame says more about."""


def traceback_of(error):
    if isinstance(error, Told):
        return str(error)
    try:
        report = traceback.TracebackException(type(error), error, error.__traceback__, compact=True)
        without_ours(report, set())
        text = "".join(report.format())
    except Exception:  # the error cannot be printed
        text = "Traceback (most recent call last):\n%s\n" % type(error).__name__
    if not text.startswith("Traceback"):
        text = "Traceback (most recent call last):\n" + text
    return text


def check_version(wanted):
    have = "%d.%d" % sys.version_info[:2]
    if wanted and wanted != have:
        from pyspark.errors import PySparkRuntimeError

        raise PySparkRuntimeError(
            errorClass="PYTHON_VERSION_MISMATCH",
            messageParameters={"worker_version": have, "driver_version": wanted},
        )


# --- types ---


def parse_type(described):
    from pyspark.sql.types import _parse_datatype_json_value

    return None if described is None else _parse_datatype_json_value(described)


class Settings:
    """What a call says of types and of the session."""

    def __init__(self, call):
        self.zone = call.get("zone") or "UTC"
        self.safe = call.get("safe", True)
        self.by_name = call.get("byName", True)
        self.input = parse_type(call.get("input"))
        self.output = parse_type(call.get("output"))
        self.schema = read_schema(call["outputSchema"]) if "outputSchema" in call else None


def python_values(column, data_type):
    """An Arrow column as the values that PySpark gives to functions."""
    from pyspark.sql.conversion import ArrowTableToRowsConversion

    convert = ArrowTableToRowsConversion._create_converter(data_type)
    values = column.to_pylist()
    return [convert(v) for v in values] if convert is not None else values


def arrow_values(values, data_type, arrow_type, settings):
    """What an Arrow-optimized function returned, as an Arrow column."""
    import pyarrow as pa
    from pyspark.sql.conversion import LocalDataToArrowConversion

    convert = LocalDataToArrowConversion._create_converter(data_type)
    if convert is not None:
        values = [convert(v) for v in values]
    try:
        return pa.array(values, type=arrow_type)
    except pa.lib.ArrowInvalid:
        return pa.array(values).cast(target_type=arrow_type, safe=settings.safe)


# --- results of functions that are not Arrow-optimized: what does not fit is NULL ---

INTEGERS = {"byte": 8, "short": 16, "integer": 32, "long": 64}


def java_text(value):
    """A value as Java prints what Pyrolite makes of it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(java_text(v) for v in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(java_text(k) + "=" + java_text(v) for k, v in value.items()) + "}"
    return "null" if value is None else str(value)


def lenient(data_type):
    """The conversion of a pickled result to a type."""
    name = data_type.typeName()
    make = LENIENT.get(name)
    if make is None:
        return lambda v: v
    convert = make(data_type)
    return lambda v: None if v is None else convert(v)


def lenient_integer(data_type):
    bits = INTEGERS[data_type.typeName()]
    half, whole = 1 << (bits - 1), 1 << bits

    def convert(v):
        if not isinstance(v, int) or isinstance(v, bool) or not -(1 << 63) <= v < 1 << 63:
            return None
        return (v + half) % whole - half

    return convert


def lenient_decimal(data_type):
    unit = decimal.Decimal(1).scaleb(-data_type.scale)
    context = decimal.Context(prec=60, rounding=decimal.ROUND_HALF_UP)

    def convert(v):
        if not isinstance(v, decimal.Decimal) or not v.is_finite():
            return None
        rounded = v.quantize(unit, context=context)
        if len(rounded.as_tuple().digits) > data_type.precision:
            raise ArithmeticError(
                "%s cannot be represented as Decimal(%d, %d)" % (v, data_type.precision, data_type.scale)
            )
        return rounded

    return convert


def lenient_binary(_):
    def convert(v):
        if isinstance(v, str):
            return v.encode()
        return bytes(v) if isinstance(v, (bytes, bytearray)) else None

    return convert


def lenient_timestamp(_):
    # A value without a zone is one of this machine's.
    return lambda v: (v if v.tzinfo else v.astimezone()).astimezone(datetime.timezone.utc)


def lenient_date(_):
    epoch = datetime.date(1970, 1, 1)
    return lambda v: epoch + datetime.timedelta(days=v.toordinal() - epoch.toordinal())


def lenient_array(data_type):
    convert = lenient(data_type.elementType)
    return lambda v: [convert(x) for x in v] if isinstance(v, (list, tuple)) else None


def lenient_map(data_type):
    key, value = lenient(data_type.keyType), lenient(data_type.valueType)
    return lambda v: [(key(k), value(x)) for k, x in v.items()] if isinstance(v, dict) else None


def lenient_struct(data_type):
    names = data_type.names
    converts = [lenient(f.dataType) for f in data_type.fields]

    def convert(v):
        if isinstance(v, dict):
            v = [v.get(n) for n in names]
        elif not isinstance(v, (list, tuple)):
            v = [getattr(v, n, None) for n in names]
        if len(v) != len(names):
            raise ValueError(
                "Input row doesn't have expected number of values required by the schema. "
                "%d fields are required while %d values are provided." % (len(names), len(v))
            )
        return {n: c(x) for n, c, x in zip(names, converts, v)}

    return convert


LENIENT = {
    "boolean": lambda _: lambda v: v if isinstance(v, bool) else None,
    "byte": lenient_integer,
    "short": lenient_integer,
    "integer": lenient_integer,
    "long": lenient_integer,
    "float": lambda _: lambda v: v if isinstance(v, float) else None,
    "double": lambda _: lambda v: v if isinstance(v, float) else None,
    "decimal": lenient_decimal,
    "string": lambda _: java_text,
    "binary": lenient_binary,
    "date": lenient_date,
    "timestamp": lenient_timestamp,
    "array": lenient_array,
    "map": lenient_map,
    "struct": lenient_struct,
    "void": lambda _: lambda v: None,
}


# --- pandas ---


def to_pandas(column, data_type, settings):
    """An Arrow column as a Series, or as a DataFrame when it is a struct."""
    from pyspark.sql.types import StructType

    if isinstance(data_type, StructType):
        return frame_of(column.flatten(), data_type, settings)
    return series_of(column, data_type, settings, "dict")


def series_of(column, data_type, settings, structs):
    from pyspark.sql.pandas.types import _create_converter_to_pandas

    from pyspark.sql.types import IntegralType

    options = {}
    known = inspect.signature(_create_converter_to_pandas).parameters
    if "integer_object_nulls" in known and not isinstance(data_type, IntegralType):
        options["integer_object_nulls"] = True
    series = column.to_pandas(date_as_object=True, coerce_temporal_nanoseconds=True, **options)
    convert = _create_converter_to_pandas(
        data_type,
        True,
        timezone=settings.zone,
        struct_in_pandas=structs,
        error_on_duplicated_field_names=False,
        **options,
    )
    return convert(series)


def frame_of(columns, struct_type, settings):
    """Arrow columns as a DataFrame."""
    import pandas as pd

    parts = []
    for column, field in zip(columns, struct_type.fields):
        part = series_of(column, field.dataType, settings, "dict")
        parts.append(part.rename(field.name))
    if not parts:
        return pd.DataFrame(index=range(len(columns[0]) if columns else 0))
    return pd.concat(parts, axis=1)


def from_pandas(series, data_type, arrow_type, settings):
    """A Series, or a DataFrame for a struct, as an Arrow column."""
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql.pandas.types import _create_converter_from_pandas

    if isinstance(series, pd.DataFrame):
        arrays = columns_of(series, data_type, arrow_type, settings)
        return pa.StructArray.from_arrays(arrays, fields=[arrow_type.field(i) for i in range(arrow_type.num_fields)])
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.dtype.categories.dtype)
    convert = _create_converter_from_pandas(
        data_type, timezone=settings.zone, error_on_duplicated_field_names=False
    )
    series = convert(series)
    mask = None if hasattr(series.array, "__arrow_array__") else series.isnull()
    try:
        return one_piece(pa.Array.from_pandas(series, mask=mask, type=arrow_type, safe=settings.safe))
    except pa.lib.ArrowException:
        loose = one_piece(pa.Array.from_pandas(series, mask=mask))
    try:
        return loose.cast(target_type=arrow_type, safe=settings.safe)
    except pa.lib.ArrowException as error:
        raise unfit(error, series, arrow_type) from None


def unfit(error, series, arrow_type):
    """Says that values of a Series are none of an Arrow type."""
    import pyarrow as pa
    from pyspark.errors import PySparkTypeError, PySparkValueError

    kind = PySparkValueError if isinstance(error, pa.lib.ArrowInvalid) else PySparkTypeError
    return kind(
        "A result of type %s does not become %s: %s. "
        "spark.sql.execution.pandas.convertToArrowArraySafely=false lets values be cut."
        % (series.dtype, arrow_type, error)
    )


def one_piece(column):
    import pyarrow as pa

    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def columns_of(frame, struct_type, arrow_type, settings):
    """The columns of a DataFrame in the order of a struct, by name if it has names."""
    named = settings.by_name and any(isinstance(c, str) for c in frame.columns)
    out = []
    for i, field in enumerate(struct_type.fields):
        series = frame[field.name] if named else frame[frame.columns[i]]
        out.append(from_pandas(series, field.dataType, arrow_type.field(i).type, settings))
    return out


def checked_frame(frame, struct_type, settings, truncate):
    """Refuses a result that is no DataFrame of the promised columns."""
    import pandas as pd
    from pyspark.errors import PySparkRuntimeError, PySparkTypeError

    if not isinstance(frame, pd.DataFrame):
        raise PySparkTypeError(
            errorClass="UDF_RETURN_TYPE",
            messageParameters={"expected": "pandas.DataFrame", "actual": type(frame).__name__},
        )
    if frame.empty and len(frame.columns) == 0:
        return
    wanted = [f.name for f in struct_type.fields]
    have = list(frame.columns[: len(wanted)]) if truncate else list(frame.columns)
    if settings.by_name and any(isinstance(c, str) for c in frame.columns):
        missing = sorted(set(wanted).difference(have))
        extra = sorted(set(have).difference(wanted))
        if missing or extra:
            raise PySparkRuntimeError(
                "[RESULT_COLUMN_NAMES_MISMATCH] Column names of the returned data do not match "
                "specified schema.%s%s"
                % (
                    " Missing: %s." % ", ".join(missing) if missing else "",
                    " Unexpected: %s." % ", ".join(map(str, extra)) if extra else "",
                )
            )
    elif len(have) != len(wanted):
        raise PySparkRuntimeError(
            "[RESULT_COLUMN_SCHEMA_MISMATCH] Number of columns of the returned data doesn't match "
            "specified schema. Expected: %d Actual: %d" % (len(wanted), len(have))
        )


def give_frame(channel, frame, settings, truncate):
    """Hands a DataFrame of results over."""
    import pyarrow as pa

    checked_frame(frame, settings.output, settings, truncate)
    if len(frame) == 0:
        return
    struct_type = pa.struct(list(settings.schema))
    arrays = columns_of(frame, settings.output, struct_type, settings)
    channel.give(pa.RecordBatch.from_arrays(arrays, schema=settings.schema))


def give_table(channel, table, settings):
    """Hands Arrow results over: the promised columns, of the promised types."""
    import pyarrow as pa
    from pyspark.errors import PySparkRuntimeError

    if table.num_columns == 0 and table.num_rows == 0:
        return
    wanted, names = settings.schema.names, table.schema.names
    if settings.by_name:
        missing, extra = sorted(set(wanted) - set(names)), sorted(set(names) - set(wanted))
        if missing or extra:
            raise PySparkRuntimeError(
                "[RESULT_COLUMN_NAMES_MISMATCH] Column names of the returned data do not match "
                "specified schema.%s%s"
                % (
                    " Missing: %s." % ", ".join(missing) if missing else "",
                    " Unexpected: %s." % ", ".join(extra) if extra else "",
                )
            )
        table = table.select(wanted)
    elif len(wanted) != len(names):
        raise PySparkRuntimeError(
            "[RESULT_COLUMN_SCHEMA_MISMATCH] Number of columns of the returned data doesn't match "
            "specified schema. Expected: %d Actual: %d" % (len(wanted), len(names))
        )
    columns = [fitted(table.column(i), field) for i, field in enumerate(settings.schema)]
    whole = pa.Table.from_arrays(columns, schema=settings.schema)
    for batch in whole.to_batches():
        channel.give(batch)


def fitted(column, field):
    """A column of a type, when it is that type but for widths of offsets and zones."""
    import pyarrow as pa
    from pyspark.errors import PySparkRuntimeError

    if column.type == field.type:
        return column
    same = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    loose = same.get(column.type, column.type)
    zoned = pa.types.is_timestamp(loose) and pa.types.is_timestamp(field.type)
    nested = pa.types.is_nested(loose) and type(loose) is type(field.type)
    if loose == field.type or nested or zoned and (loose.tz is None) == (field.type.tz is None):
        return column.cast(field.type)
    raise PySparkRuntimeError(
        "[RESULT_COLUMN_TYPES_MISMATCH] Column types of the returned data do not match specified "
        "schema. Mismatch: column '%s' (expected %s, actual %s)." % (field.name, field.type, column.type)
    )


# --- calls ---


def load(pickle, call):
    check_version(call.get("python"))
    return cloudpickle.loads(pickle)


def set_task(call, partition):
    """What TaskContext.get() tells the function."""
    from pyspark import TaskContext

    context = TaskContext._getOrCreate()
    context._stageId, context._attemptNumber, context._cpus = 0, 0, 1
    context._partitionId = context._taskAttemptId = partition
    context._resources, context._localProperties = {}, dict(call.get("properties") or {})


class Scalar:
    """One function of a scalar call and the columns it is called on."""

    def __init__(self, described, pickle, call, settings):
        self.eval = described["eval"]
        self.args = [a["column"] for a in described["args"] if not a.get("name")]
        self.named = {a["name"]: a["column"] for a in described["args"] if a.get("name")}
        self.function = fail_on_stopiteration(load(pickle, call)[0])
        field = settings.schema.field(described["result"])
        self.arrow_type = field.type
        self.type = settings.output.fields[described["result"]].dataType

    def over(self, columns, rows, settings):
        """The results for a batch, as an Arrow column."""
        if self.eval == 200:
            return self.over_pandas(columns, rows, settings)
        if self.eval == 250:
            return self.over_arrow(columns, rows)
        positional = [python_values(*columns[c]) for c in self.args]
        named = {n: python_values(*columns[c]) for n, c in self.named.items()}
        f = self.function
        if named:
            lists = list(named.values())
            results = [
                f(*[p[i] for p in positional], **dict(zip(named, [v[i] for v in lists]))) for i in range(rows)
            ]
        elif positional:
            results = [f(*args) for args in zip(*positional)]
        else:
            results = [f() for _ in range(rows)]
        if self.eval == 100:
            convert = lenient(self.type)
            import pyarrow as pa

            return pa.array([convert(r) for r in results], type=self.arrow_type)
        return arrow_values(results, self.type, self.arrow_type, settings)

    def over_arrow(self, columns, rows):
        import pyarrow as pa
        from pyspark.errors import PySparkTypeError

        args = [columns[c][0] for c in self.args]
        result = self.function(*args, **{n: columns[c][0] for n, c in self.named.items()})
        if not isinstance(result, (pa.Array, pa.ChunkedArray)):
            raise PySparkTypeError(
                errorClass="UDF_RETURN_TYPE",
                messageParameters={"expected": "pyarrow.Array", "actual": type(result).__name__},
            )
        check_rows(len(result), rows)
        result = one_piece(result)
        return result if result.type == self.arrow_type else result.cast(self.arrow_type, safe=True)

    def over_pandas(self, columns, rows, settings):
        from pyspark.errors import PySparkTypeError
        from pyspark.sql.types import StructType

        args = [to_pandas(*columns[c], settings) for c in self.args]
        named = {n: to_pandas(*columns[c], settings) for n, c in self.named.items()}
        result = self.function(*args, **named)
        if not hasattr(result, "__len__"):
            kind = "pandas.DataFrame" if isinstance(self.type, StructType) else "pandas.Series"
            raise PySparkTypeError(
                errorClass="UDF_RETURN_TYPE",
                messageParameters={"expected": kind, "actual": type(result).__name__},
            )
        check_rows(len(result), rows)
        if not hasattr(result, "dtype") and not hasattr(result, "dtypes"):
            import pandas as pd

            result = pd.Series(result)
        return from_pandas(result, self.type, self.arrow_type, settings)


def check_rows(have, wanted):
    from pyspark.errors import PySparkRuntimeError

    if have != wanted:
        raise PySparkRuntimeError(
            "[RESULT_ROWS_MISMATCH] The number of output rows (%d) must match the number of input rows (%d)."
            % (have, wanted)
        )


def scalar(channel, call, pickles):
    """Functions of rows; each sees the columns and the results before it."""
    import pyarrow as pa

    settings = Settings(call)
    set_task(call, call.get("partition", 0))
    functions = [Scalar(d, p, call, settings) for d, p in zip(call["functions"], pickles)]
    for batches in channel.groups():
        for batch in batches:
            columns = list(zip(batch.columns, [f.dataType for f in settings.input.fields]))
            results = []
            for f in functions:
                column = f.over(columns, batch.num_rows, settings)
                columns.append((column, f.type))
                results.append(column)
            channel.give(pa.RecordBatch.from_arrays(results, schema=settings.schema))


def scalar_iterator(channel, call, pickles):
    """A pandas function of iterators: one call for a partition."""
    import pyarrow as pa
    from pyspark.errors import PySparkRuntimeError

    settings = Settings(call)
    set_task(call, call.get("partition", 0))
    described = call["functions"][0]
    function = load(pickles[0], call)[0]
    field, data_type = settings.schema.field(0), settings.output.fields[0].dataType
    count = {"in": 0, "out": 0}

    def arguments():
        for batches in channel.groups():
            for batch in batches:
                count["in"] += batch.num_rows
                types = [f.dataType for f in settings.input.fields]
                args = tuple(
                    to_pandas(batch.column(a["column"]), types[a["column"]], settings) for a in described["args"]
                )
                yield args[0] if len(args) == 1 else args

    source = arguments()
    for result in iterator_of(function(source), "pandas.Series"):
        count["out"] += len(result)
        if count["out"] > count["in"]:
            raise PySparkRuntimeError(
                "[OUTPUT_EXCEEDS_INPUT_ROWS] The function returned more rows than it was given."
            )
        column = from_pandas(result, data_type, field.type, settings)
        channel.give(pa.RecordBatch.from_arrays([column], schema=settings.schema))
    check_rows(count["out"], count["in"])
    for _ in source:
        raise PySparkRuntimeError(
            "[INPUT_NOT_FULLY_CONSUMED] The function did not read its input to the end."
        )


def iterator_of(result, kind):
    from pyspark.errors import PySparkTypeError

    try:
        return iter(result)
    except TypeError:
        raise PySparkTypeError(
            errorClass="UDF_RETURN_TYPE",
            messageParameters={"expected": "iterator of " + kind, "actual": type(result).__name__},
        ) from None


def map_pandas(channel, call, pickles):
    """mapInPandas: a function of the frames of a partition."""
    import pandas as pd
    from pyspark.errors import PySparkTypeError

    settings = Settings(call)
    set_task(call, call.get("partition", 0))
    function = load(pickles[0], call)[0]

    def frames():
        for batches in channel.groups():
            for batch in batches:
                yield frame_of(batch.columns, settings.input, settings)

    for frame in iterator_of(function(frames()), "pandas.DataFrame"):
        if not isinstance(frame, pd.DataFrame):
            raise PySparkTypeError(
                errorClass="UDF_RETURN_TYPE",
                messageParameters={
                    "expected": "iterator of pandas.DataFrame",
                    "actual": "iterator of " + type(frame).__name__,
                },
            )
        give_frame(channel, frame, settings, True)


def map_arrow(channel, call, pickles):
    """mapInArrow: a function of the record batches of a partition."""
    import pyarrow as pa

    settings = Settings(call)
    set_task(call, call.get("partition", 0))
    function = load(pickles[0], call)[0]
    batches = (batch for group in channel.groups() for batch in group)
    for batch in iterator_of(function(batches), "pyarrow.RecordBatch"):
        checked_batch(batch)
        settings.by_name = set(batch.schema.names) == set(settings.schema.names)
        give_table(channel, pa.Table.from_batches([batch]), settings)


def takes_key(function):
    return len(inspect.getfullargspec(function).args) != 1


def group_pandas(channel, call, pickles):
    """applyInPandas: a function of the frame of a group, or of key and frame; or of its frames, one by one."""
    from pyspark.sql.types import StructType

    settings = Settings(call)
    set_task(call, call.get("partition", 0))
    function = load(pickles[0], call)[0]
    keyed, keys, iterates = takes_key(function), call["keys"], call["functions"][0]["eval"] == 216
    fields = settings.input.fields
    values = StructType(fields[keys:])
    for batches in channel.groups():
        if iterates:
            args = [(frame_of(batch.columns[keys:], values, settings) for batch in batches)]
        else:
            args = [frame_of(pieces(batches)[keys:], values, settings)]
        if keyed:
            heads = zip(batches[0].columns[:keys], fields[:keys])
            args.insert(0, tuple(series_of(c.slice(0, 1), f.dataType, settings, "dict").iloc[0] for c, f in heads))
        result = function(*args)
        for frame in iterator_of(result, "pandas.DataFrame") if iterates else [result]:
            give_frame(channel, frame, settings, False)


def pieces(batches):
    """The columns of a group, each in one piece."""
    import pyarrow as pa

    return [one_piece(c) for c in pa.Table.from_batches(batches).combine_chunks().columns]


def group_arrow(channel, call, pickles):
    """applyInArrow: a function of the table of a group, or of key and table; or of its batches, one by one."""
    import pyarrow as pa

    settings = Settings(call)
    set_task(call, call.get("partition", 0))
    function = load(pickles[0], call)[0]
    keyed, keys, iterates = takes_key(function), call["keys"], call["functions"][0]["eval"] == 215
    for batches in channel.groups():
        columns = range(keys, batches[0].num_columns)
        if iterates:
            args = [(batch.select(list(columns)) for batch in batches)]
        else:
            args = [pa.Table.from_batches(batches).select(columns)]
        if keyed:
            args.insert(0, tuple(c[0] for c in batches[0].columns[:keys]))
        result = function(*args)
        if not iterates:
            give_table(channel, checked_table(result), settings)
            continue
        for batch in iterator_of(result, "pyarrow.RecordBatch"):
            give_table(channel, pa.Table.from_batches([checked_batch(batch)]), settings)


def checked_table(result):
    import pyarrow as pa
    from pyspark.errors import PySparkTypeError

    if not isinstance(result, pa.Table):
        raise PySparkTypeError(
            errorClass="UDF_RETURN_TYPE",
            messageParameters={"expected": "pyarrow.Table", "actual": type(result).__name__},
        )
    return result


def checked_batch(batch):
    import pyarrow as pa
    from pyspark.errors import PySparkTypeError

    if not isinstance(batch, pa.RecordBatch):
        raise PySparkTypeError(
            errorClass="UDF_RETURN_TYPE",
            messageParameters={
                "expected": "iterator of pyarrow.RecordBatch",
                "actual": "iterator of " + type(batch).__name__,
            },
        )
    return batch


def foreach(channel, call, pickles):
    """The writer of a query for the rows of one partition of one batch, or for partitions without rows."""
    import pyarrow as pa
    from pyspark.sql.conversion import ArrowTableToRowsConversion

    settings = Settings(call)

    def rows():
        for batches in channel.groups():
            for batch in batches:
                yield from ArrowTableToRowsConversion.convert(pa.Table.from_batches([batch]), settings.input)

    for partition in call["partitions"]:
        set_task(call, partition)
        function = load(pickles[0], call)[0]
        for _ in function(partition, rows() if len(call["partitions"]) == 1 else iter(())):
            pass


class Batches:
    """The function of a foreachBatch, between the batches."""

    function = None
    session = None


def connect(url, session_id):
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote("%s;session_id=%s" % (url, session_id)).create()
    with SparkSession._lock:
        SparkSession._default_session = session
    SparkSession._active_session.session = session
    return session


def open_batches(_, call, pickles):
    """Loads the function. What it holds of the client's session is that session;
    the batches run in a copy of it."""
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    connect(call["url"], call["root"])
    Batches.function = load(pickles[0], call)
    Batches.session = connect(call["url"], call["clone"])


def batch(_, call, __):
    Batches.function(Batches.session._create_remote_dataframe(call["frame"]), call["batch"])


CALLS = {
    "scalar": scalar,
    "scalarIterator": scalar_iterator,
    "mapPandas": map_pandas,
    "mapArrow": map_arrow,
    "groupPandas": group_pandas,
    "groupArrow": group_arrow,
    "foreach": foreach,
    "openBatches": open_batches,
    "batch": batch,
}


def serve(channel):
    while True:
        kind, payload = channel.receive()
        if kind is None:
            return
        call = json.loads(payload)
        pickles = [channel.receive()[1] for _ in range(call.get("pickles", 0))]
        try:
            for folder in reversed(call.get("path") or []):
                if folder not in sys.path:
                    sys.path.insert(1, folder)
            CALLS[call["do"]](channel, call, pickles)
        except BaseException as error:  # SystemExit and KeyboardInterrupt are the user's too
            end = (ERROR, json.dumps({"traceback": traceback_of(error)}).encode())
        else:
            end = (DONE,)
        # Before the end is told, so that what was printed counts to this call.
        flush(sys.stdout)
        flush(sys.stderr)
        channel.send(*end)


def flush(stream):
    """Whatever a function made of its output, it is not what ends the worker."""
    try:
        stream.flush()
    except Exception:
        pass


def find_files(root):
    """Tells SparkFiles where the files are that clients sent."""
    try:
        from pyspark.core.files import SparkFiles
    except ImportError:
        return  # pyspark-client comes without, so functions ask for none
    SparkFiles._is_running_on_worker = True
    SparkFiles._root_directory = root


def main():
    # PySpark takes a main module without a file for a doctest.
    sys.modules["__main__"].__file__ = OURS
    live_with(4)
    find_files(os.environ.pop("WEIR_FILES", ""))
    channel = Channel(3)
    channel.send(
        CALL,
        json.dumps({"version": VERSION, "python": sys.version.split()[0], "pyspark": pyspark.__version__}).encode(),
    )
    try:
        serve(channel)
    except (KeyboardInterrupt, ConnectionError):
        pass
    # Not the usual way out: that would wait for the threads of gRPC.
    atexit._run_exitfuncs()
    os._exit(0)
