# Part of weir_worker.py: functions of groups with a state. The state is weir's; it comes along with the
# groups, and what became of it goes back at the end of a turn.

# --- functions of groups with a state ---


class GroupRows:
    """The rows of a turn, group by group, as DataFrames."""

    cut = True  # a batch is cut into groups, then each becomes a frame

    def __init__(self, batches, struct_type, settings):
        self.batches = batches
        self.type = struct_type
        self.settings = settings
        self.whole = None  # the first batch as a DataFrame; False where a part of it would look other than alone
        self.at = 0  # in the first batch

    def take(self, count):
        """The frames of the next rows; what is not asked for is passed over."""
        while count > 0:
            batch = self.batches[0]
            n = min(count, batch.num_rows - self.at)
            frame = self.part(batch, n)
            self.skip(n)
            count -= n
            yield frame

    def skip(self, n):
        self.at += n
        while self.batches and self.at >= self.batches[0].num_rows:
            self.at -= self.batches[0].num_rows
            self.batches.pop(0)
            self.whole = None

    def part(self, batch, n):
        import pandas as pd

        if n == batch.num_rows:
            return frame_of(batch.columns, self.type, self.settings)
        if self.whole is None:
            whole = not self.cut or divisible(batch)
            self.whole = frame_of(batch.columns, self.type, self.settings) if whole else False
        if self.whole is False:
            return frame_of(batch.slice(self.at, n).columns, self.type, self.settings)
        frame = self.whole.iloc[self.at : self.at + n].copy()
        frame.index = pd.RangeIndex(n)
        return frame


class ProcessorRows(GroupRows):
    """The same for stateful processors, whose frames Spark makes of rows of the frame of a batch: the NULLs
    of one group turn the numbers of all into floats."""

    cut = False

    def part(self, batch, n):
        frame = GroupRows.part(self, batch, n)
        return frame.infer_objects()


def divisible(batch):
    """Whether a part of a batch becomes the same as a part of what the batch becomes: NULLs turn
    numbers into others."""
    import pyarrow as pa

    plain = (pa.types.is_integer, pa.types.is_boolean)
    return not any(c.null_count and any(is_plain(c.type) for is_plain in plain) for c in batch.columns)


class Taken:
    """The rows of one group. Those that the function does not read are passed over."""

    def __init__(self, rows, count):
        self.rows, self.left = rows, count

    def frames(self):
        for some in self.rows.take(self.left):
            self.left -= 1 if isinstance(some, tuple) else len(some)
            yield some

    def finish(self):
        self.rows.skip(self.left)
        self.left = 0


def group_keys(columns, fields, settings):
    """The keys of groups, as tuples of what a Series holds."""
    lists = []
    for column, field in zip(columns, fields):
        if divisible_column(column):
            values = series_of(column, field.dataType, settings, "dict").array
            lists.append([values[i] for i in range(len(values))])
        else:
            lists.append(
                [series_of(column.slice(i, 1), field.dataType, settings, "dict").iloc[0] for i in range(len(column))]
            )
    return list(zip(*lists)) if lists else None


def divisible_column(column):
    import pyarrow as pa

    return not column.null_count or not (pa.types.is_integer(column.type) or pa.types.is_boolean(column.type))


class RowGiver:
    """Hands Rows of results over, many at a time."""

    LIMIT = 10000

    def __init__(self, channel, settings):
        self.channel, self.settings = channel, settings
        self.rows = []

    def take(self, rows):
        for row in rows:
            self.rows.append(row.asDict(True))
            if len(self.rows) > self.LIMIT:
                self.flush()

    def flush(self):
        import pyarrow as pa

        if self.rows:
            self.channel.give(pa.RecordBatch.from_pylist(self.rows, schema=self.settings.schema))
        self.rows = []


class PlainRows:
    """The rows of a turn, group by group, as Rows."""

    def __init__(self, batches, struct_type, settings):
        from pyspark.sql.types import Row

        self.make = Row(*struct_type.names)
        self.batches = batches
        self.at, self.values = 0, None

    def take(self, count):
        for _ in range(count):
            if self.values is None:
                self.values = [c.to_pylist() for c in self.batches[0].columns]
            row = self.make(*[c[self.at] for c in self.values])
            self.skip(1)
            yield row

    def skip(self, n):
        self.at += n
        while self.batches and self.at >= self.batches[0].num_rows:
            self.at -= self.batches[0].num_rows
            self.batches.pop(0)
            self.values = None


class FrameGiver:
    """Hands the frames of results over, many at a time."""

    LIMIT = 10000

    def __init__(self, channel, settings):
        self.channel, self.settings = channel, settings
        self.frames, self.rows = [], 0

    def take(self, frames):
        """Takes the frames that a stateful processor gives."""
        import pandas as pd
        from pyspark.errors import PySparkValueError

        wanted = [f.name for f in self.settings.output.fields]
        for frame in frames:
            if not isinstance(frame, pd.DataFrame):
                raise PySparkValueError(
                    "Invalid return type. Please make sure that the UDF returns a pandas.DataFrame when the "
                    "specified return type is StructType."
                )
            named = any(isinstance(c, str) for c in frame.columns)
            missing = [n for n in wanted if n not in frame.columns] if named and self.settings.by_name else []
            if missing:
                raise KeyError("%s not in index" % missing)
            self.add(frame)

    def add(self, frame):
        if len(frame) == 0:
            return
        self.frames.append(frame)
        self.rows += len(frame)
        if self.rows > self.LIMIT:
            self.flush()

    def flush(self):
        import pandas as pd
        import pyarrow as pa

        if not self.frames:
            return
        whole = self.frames[0] if len(self.frames) == 1 else pd.concat(self.frames, ignore_index=True)
        self.frames, self.rows = [], 0
        if any(isinstance(c, str) for c in whole.columns):
            # A column that the function left out is NULL.
            missing = [f.name for f in self.settings.output.fields if f.name not in whole.columns]
            whole = whole.assign(**{name: None for name in missing}) if missing else whole
        arrays = columns_of(whole, self.settings.output, pa.struct(list(self.settings.schema)), self.settings)
        self.channel.give(pa.RecordBatch.from_arrays(arrays, schema=self.settings.schema))


def state_frames(result, width):
    """What a function with state returned, frame by frame."""
    import pandas as pd
    from pyspark.errors import PySparkRuntimeError, PySparkTypeError

    def wrong(expected, actual):
        return PySparkTypeError(
            errorClass="UDF_RETURN_TYPE", messageParameters={"expected": expected, "actual": actual}
        )

    if isinstance(result, pd.DataFrame):
        raise wrong("iterable of pandas.DataFrame", type(result).__name__)
    try:
        frames = iter(result)
    except TypeError:
        raise wrong("iterable", type(result).__name__)
    for frame in frames:
        if not isinstance(frame, pd.DataFrame):
            raise wrong("iterator of pandas.DataFrame", "iterator of " + type(frame).__name__)
        if len(frame.columns) != width and not (len(frame.columns) == 0 and frame.empty):
            raise PySparkRuntimeError(
                "[RESULT_COLUMN_SCHEMA_MISMATCH] Number of columns of the returned data doesn't match "
                "specified schema. Expected: %d Actual: %d" % (width, len(frame.columns))
            )
        yield frame


class StateCall:
    """A call of applyInPandasWithState: what stays the same from turn to turn."""

    def __init__(self, channel, call, pickles):
        self.channel, self.call = channel, call
        self.settings = Settings(call)
        self.told = call["state"]["told"]
        self.schema = read_schema(call["state"]["changes"][0])
        self.keys, self.value = parse_type(self.told["keys"]), parse_type(self.told["value"])
        self.convert = lenient(self.value)
        self.function = load(pickles[0], call)[0]
        self.giver = FrameGiver(channel, self.settings)

    def state(self, value, timed_out):
        from pyspark.sql.streaming.state import GroupState

        return GroupState(
            value,
            self.told["now"],
            self.told["watermark"],
            self.told["timeout"],
            timed_out,
            self.told["watermarked"],
            value is not None,
            False,
            False,
            GroupState.NO_TIMESTAMP,
            b"",
            self.value,
        )

    def turn(self, turn):
        import pandas as pd

        set_task(self.call, turn.note["part"])
        heads, timed_out = turn.one("heads"), turn.note["timedOut"]
        columns, count = heads.columns, heads.num_rows
        keys = group_keys(columns[: len(self.keys.fields)], self.keys.fields, self.settings) or [()] * count
        sizes, values = columns[-2].to_pylist(), python_values(columns[-1], self.value)
        rows, changes = GroupRows(turn.all("rows"), self.settings.input, self.settings), []
        for i in range(count):
            state = self.state(values[i], timed_out)
            group = Taken(rows, sizes[i])
            if timed_out:
                frames = [pd.DataFrame(columns=self.settings.input.names)]
            else:
                frames = group.frames()
            for frame in state_frames(self.function(keys[i], frames, state), len(self.settings.output.fields)):
                self.giver.add(frame)
            group.finish()
            self.note(changes, i, state)
        self.giver.flush()
        self.channel.change(0, self.changed(changes))

    def note(self, changes, i, state):
        """Remembers what became of a state."""
        timeout = state._timeout_timestamp
        timed = timeout != state.oldTimeoutTimestamp
        if state._removed and not timed:
            changes.append((i, 1, None, None))
        elif state._updated or state._removed or timed:
            changes.append((i, 0, int(timeout) if timed else None, state._value if state.exists else None))

    def changed(self, changes):
        import pyarrow as pa

        columns = list(zip(*changes)) if changes else [[]] * 4
        columns[3] = [self.convert(tuple(v)) if v is not None else None for v in columns[3]]
        arrays = [pa.array(c, type=f.type) for c, f in zip(columns, self.schema)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def state_pandas(channel, call, pickles):
    """applyInPandasWithState: a function of the key, the frames and the state of a group."""
    calls = StateCall(channel, call, pickles)
    for turn in channel.turns():
        calls.turn(turn)


CALLS["statePandas"] = state_pandas
