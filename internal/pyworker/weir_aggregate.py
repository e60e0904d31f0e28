# Part of weir_worker.py: functions that make a value of a group, and functions of two groups.

# --- aggregates and pairs of groups ---


class Aggregate(Scalar):
    """One function of an aggregation and the columns it is called on."""

    def of(self, batches, columns, settings):
        """Its value for a group, as an Arrow column of one row. batches are the group's, columns the
        same in one piece."""
        import pandas as pd
        import pyarrow as pa

        arrow = self.eval in (252, 254)
        if self.eval in (217, 254):
            values = (self.arguments(batch.columns, settings, arrow) for batch in batches)
            result = self.function(v[0] if len(v) == 1 else tuple(v) for v in values)
        else:
            named = {n: self.argument(columns, c, settings, arrow) for n, c in self.named.items()}
            result = self.function(*self.arguments(columns, settings, arrow), **named)
        if not arrow:
            return from_pandas(pd.Series([result]), self.type, self.arrow_type, settings)
        if isinstance(result, pa.Scalar):
            result = result.as_py()
        return pa.array([result], type=self.arrow_type)

    def arguments(self, columns, settings, arrow):
        return [self.argument(columns, c, settings, arrow) for c in self.args]

    def argument(self, columns, at, settings, arrow):
        # Unlike functions of rows, aggregates see structs as dicts.
        return columns[at] if arrow else series_of(columns[at], settings.input.fields[at].dataType, settings, "dict")


def aggregate(channel, call, pickles):
    """Functions of groups that give one value each; the group's key comes back behind the values."""
    import pyarrow as pa

    settings, keys = Settings(call), call["keys"]
    set_task(call, call.get("partition", 0))
    functions = [Aggregate(d, p, call, settings) for d, p in zip(call["functions"], pickles)]
    rows = []

    def flush():
        if rows:
            columns = [pa.concat_arrays(column).cast(f.type) for column, f in zip(zip(*rows), settings.schema)]
            channel.give(pa.RecordBatch.from_arrays(columns, schema=settings.schema))
        rows.clear()

    for batches in channel.groups():
        columns = pieces(batches)
        values = [f.of(batches, columns, settings) for f in functions]
        rows.append(values + [c.slice(0, 1) for c in columns[:keys]])
        if len(rows) >= 10000:
            flush()
    flush()


def pairs(channel, call):
    """Two tables with the columns of their key, group by group. The rows of the first come first; a
    column behind the key says where each is from."""
    import pyarrow as pa

    keys, first = call["keys"], call["first"]
    for batches in channel.groups():
        table = pa.Table.from_batches(batches)
        n = table.num_rows - sum(table.column(keys).to_pylist())
        ours = range(keys + 1, keys + 1 + first)
        theirs = range(keys + 1 + first, table.num_columns)
        yield table.select(range(keys)).slice(0, 1), table.slice(0, n).select(ours), table.slice(n).select(theirs)


def takes_key_of_pair(function):
    return len(inspect.getfullargspec(function).args) != 2


def cogroup_pandas(channel, call, pickles):
    """applyInPandas: a function of the frames of two groups, or of key and frames."""
    from pyspark.sql.types import StructType

    settings, keys, first = Settings(call), call["keys"], call["first"]
    set_task(call, call.get("partition", 0))
    function = load(pickles[0], call)[0]
    keyed, fields = takes_key_of_pair(function), settings.input.fields
    ours, theirs = fields[keys + 1 : keys + 1 + first], fields[keys + 1 + first :]
    for key, left, right in pairs(channel, call):
        frames = [
            frame_of([one_piece(c) for c in left.columns], StructType(ours), settings),
            frame_of([one_piece(c) for c in right.columns], StructType(theirs), settings),
        ]
        if keyed:
            values = zip([one_piece(c) for c in key.columns], fields[:keys])
            frames.insert(0, tuple(series_of(c, f.dataType, settings, "dict").iloc[0] for c, f in values))
        give_frame(channel, function(*frames), settings, False)


def cogroup_arrow(channel, call, pickles):
    """applyInArrow: a function of the tables of two groups, or of key and tables."""
    settings = Settings(call)
    set_task(call, call.get("partition", 0))
    function = load(pickles[0], call)[0]
    keyed = takes_key_of_pair(function)
    for key, left, right in pairs(channel, call):
        tables = [left, right]
        if keyed:
            tables.insert(0, tuple(c[0] for c in key.columns))
        give_table(channel, checked_table(function(*tables)), settings)


def over(channel, call, pickles):
    """A function over windows: a value for each row of a group, of all its rows or of those in its frame."""
    import pandas as pd
    import pyarrow as pa

    settings, arguments = Settings(call), call["keys"]
    set_task(call, call.get("partition", 0))
    f = Aggregate(call["functions"][0], pickles[0], call, settings)
    arrow = f.eval == 252
    for batches in channel.groups():
        columns = pieces(batches)
        rows = sum(batch.num_rows for batch in batches)
        positional = f.arguments(columns, settings, arrow)
        named = {n: f.argument(columns, c, settings, arrow) for n, c in f.named.items()}
        if len(columns) == arguments:
            result = f.function(*positional, **named)
            results = [result] * rows
        else:

            def cut(v, start, end):
                return v.slice(start, end - start) if arrow else v.iloc[start:end]

            results = [
                f.function(*[cut(v, b, e) for v in positional], **{n: cut(v, b, e) for n, v in named.items()})
                for b, e in zip(columns[arguments].to_pylist(), columns[arguments + 1].to_pylist())
            ]
        if arrow:
            results = [r.as_py() if isinstance(r, pa.Scalar) else r for r in results]
            column = pa.array(results, type=f.arrow_type)
        else:
            column = from_pandas(pd.Series(results), f.type, f.arrow_type, settings)
        channel.give(pa.RecordBatch.from_arrays([column], schema=settings.schema))


CALLS["aggregate"] = aggregate
CALLS["over"] = over
CALLS["cogroupPandas"] = cogroup_pandas
CALLS["cogroupArrow"] = cogroup_arrow
