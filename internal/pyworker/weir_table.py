# Part of weir_worker.py: table functions, which yield any number of rows for a row or for a table.

# --- instances of the user's class ---


def broken(condition, **parameters):
    from pyspark.errors import PySparkRuntimeError

    return PySparkRuntimeError(errorClass=condition, messageParameters=parameters)


class Table:
    """The rows of one partition, and the instance of the function that is at them."""

    def __init__(self, channel, call, pickles, settings):
        from pyspark.sql.types import StructType

        self.channel, self.settings = channel, settings
        self.name, self.table, self.keys = call["table"]["name"], call["table"]["argument"], call["keys"]
        args = call["functions"][0]["args"]
        self.order = [a["column"] for a in args if not a.get("name")]
        self.named = {a["name"]: a["column"] for a in args if a.get("name")}
        self.types = [f.dataType for f in settings.input.fields]
        self.type = StructType(settings.output.fields[1:])
        self.handler = load(pickles[0], call)
        self.analysis = cloudpickle.loads(pickles[1]) if len(pickles) > 1 else None
        self.check_null = null_checker(self.type)
        self.key, self.over, self.last = None, False, 0
        self.instance = self.make()
        self.check_signature()

    def make(self):
        takes = len(inspect.getfullargspec(self.handler).args)
        if self.analysis is None and takes > 1:
            raise broken("UDTF_CONSTRUCTOR_INVALID_NO_ANALYZE_METHOD", name=self.name)
        if takes > 2:
            raise broken("UDTF_CONSTRUCTOR_INVALID_IMPLEMENTS_ANALYZE_METHOD", name=self.name)
        try:
            return self.handler(copy.copy(self.analysis)) if takes == 2 else self.handler()
        except Exception as error:
            raise broken("UDTF_EXEC_ERROR", method_name="__init__", error=str(error))

    def check_signature(self):
        try:
            inspect.signature(self.instance.eval).bind(*self.order, **self.named)
        except TypeError as error:
            raise broken(
                "UDTF_EVAL_METHOD_ARGUMENTS_DO_NOT_MATCH_SIGNATURE", name=self.name, reason=str(error)
            ) from None

    def called(self, method, args=(), named=None):
        """What a method gives when it is called; what fails later, fails as it does."""
        from pyspark.sql.udtf import SkipRestOfInputTableException

        try:
            result = method(*args, **(named or {}))
        except SkipRestOfInputTableException:
            raise
        except Exception as error:
            raise broken("UDTF_EXEC_ERROR", method_name=method.__name__, error=str(error))
        if result is None:
            return ()
        if not hasattr(result, "__iter__"):
            raise broken("UDTF_RETURN_NOT_ITERABLE", type=type(result).__name__, func=method.__name__)
        return result

    def step(self, row, key, args, named):
        """Calls eval for a row, or for rows, after the end of the partition of the table before."""
        from pyspark.sql.udtf import SkipRestOfInputTableException

        if self.key is not None and any(a != b for a, b in zip(self.key, key)):
            self.terminate()
            self.clean()
            self.instance, self.over = self.make(), False
        self.key, self.last = key, row
        if self.over:
            return
        try:
            self.take(row, "eval", self.called(self.instance.eval, args, named))
        except SkipRestOfInputTableException:
            self.over = True

    def terminate(self):
        method = getattr(self.instance, "terminate", None)
        if method is not None:
            self.take(self.last, "terminate", self.called(method))

    def clean(self):
        method = getattr(self.instance, "cleanup", None)
        if method is not None:
            method()

    def finish(self):
        self.terminate()
        self.flush()


class TableRows(Table):
    """Functions of values: eval type 300, whose results are pickled in Spark, and 301, where Arrow takes them."""

    most = 5000  # rows that wait

    def __init__(self, *args):
        Table.__init__(self, *args)
        self.rows, self.results, self.waiting = [], [], 0

    def batch(self, batch):
        columns = [python_values(c, t) for c, t in zip(batch.columns, self.types)]
        for i in range(batch.num_rows):
            key = tuple(c[i] for c in columns[: self.keys])
            args = [columns[k][i] for k in self.order]
            self.step(i, key, args, {n: columns[k][i] for n, k in self.named.items()})
            if self.waiting >= self.most:
                self.flush()
        self.flush()

    def take(self, row, method, result):
        kept = []
        # What came before a failure counts for nothing: Spark has not seen it either.
        for value in result:
            kept.append(self.checked(value, method))
        self.rows.extend([row] * len(kept))
        self.results.append((method, kept))
        self.waiting += len(kept)

    def flush(self):
        import pyarrow as pa

        if self.rows:
            columns = self.converted([(m, r) for m, r in self.results if r])
            columns.insert(0, pa.array(self.rows, pa.int32()))
            self.channel.give(pa.RecordBatch.from_arrays(columns, schema=self.settings.schema))
        self.rows, self.results, self.waiting = [], [], 0


class PickledTable(TableRows):
    def checked(self, value, method):
        if value is None:
            return None
        if hasattr(value, "__len__") and len(value) != len(self.type):
            raise broken(
                "UDTF_RETURN_SCHEMA_MISMATCH", expected=str(len(self.type)), actual=str(len(value)), func=method
            )
        if hasattr(value, "__UDT__") or not (isinstance(value, (list, dict, tuple)) or hasattr(value, "__dict__")):
            raise broken("UDTF_INVALID_OUTPUT_ROW_TYPE", type=type(value).__name__, func=method)
        self.check_null(value)
        return value

    def converted(self, results):
        import pyarrow as pa

        convert = lenient(self.type)
        rows = [convert(v) for _, values in results for v in values]
        names = self.type.names
        columns = []
        for name, field in zip(names, list(self.settings.schema)[1:]):
            columns.append(pa.array([None if r is None else r[name] for r in rows], type=field.type))
        return columns


class ArrowTable(TableRows):
    def checked(self, value, method):
        if not isinstance(value, tuple) and len(self.type) == 1:
            value = (value,)
        if value is not None:
            self.check_null(value)
        return value

    def converted(self, results):
        try:
            table = self.arrow(None, [v for _, values in results for v in values])
        except Exception:
            # Each call by itself, so that the error shows what the failing one gave.
            for method, values in results:
                self.arrow(method, values)
            raise
        return [
            one_piece(c) if c.type == f.type else one_piece(c).cast(f.type)
            for c, f in zip(table.columns, list(self.settings.schema)[1:])
        ]

    def arrow(self, method, values):
        from pyspark.errors import PySparkValueError
        from pyspark.sql.conversion import LocalDataToArrowConversion
        from pyspark.sql.pandas.types import to_arrow_type

        try:
            return LocalDataToArrowConversion.convert(values, self.type, False)
        except PySparkValueError as error:
            if method is not None and error.getCondition() == "AXIS_LENGTH_MISMATCH":
                lengths = error.getMessageParameters()
                raise broken(
                    "UDTF_RETURN_SCHEMA_MISMATCH",
                    expected=lengths["expected_length"],
                    actual=lengths["actual_length"],
                    func=method,
                ) from error
            cause = error
        except Exception as error:
            cause = error
        raise broken(
            "UDTF_ARROW_DATA_CONVERSION_ERROR",
            data=str(values),
            schema=self.type.simpleString(),
            arrow_schema=str(to_arrow_type(self.type, timezone="UTC")),
        ) from cause


class ArraysTable(Table):
    """Functions of Arrow arrays, and of the batches of a table: eval type 302."""

    def batch(self, batch):
        import pyarrow as pa

        columns = list(batch.columns)
        at = self.keys + self.table
        if self.table >= 0:
            rows = columns[at]
            columns[at] = pa.RecordBatch.from_arrays(rows.flatten(), names=[f.name for f in rows.type])
        keys = list(zip(*[python_values(c, t) for c, t in zip(columns[: self.keys], self.types)]))
        start = 0
        for i in range(1, batch.num_rows + 1):
            if i < batch.num_rows and (not keys or not any(a != b for a, b in zip(keys[start], keys[i]))):
                continue
            part = [c.slice(start, i - start) for c in columns]
            args, named = [part[k] for k in self.order], {n: part[k] for n, k in self.named.items()}
            self.step(0, keys[start] if keys else (), args, named)
            start = i

    def take(self, row, method, result):
        import pyarrow as pa

        for item in result:
            if not isinstance(item, (pa.Table, pa.RecordBatch)):
                raise broken("UDTF_ARROW_TYPE_CONVERSION_ERROR")
            if item.num_columns != len(self.type):
                raise broken(
                    "UDTF_RETURN_SCHEMA_MISMATCH",
                    expected=str(len(self.type)),
                    actual=str(item.num_columns),
                    func=method,
                )
            self.give(item)

    def give(self, item):
        import pyarrow as pa

        fields = list(self.settings.schema)[1:]
        names, wanted = item.schema.names, [f.name for f in fields]
        missing, extra = sorted(set(wanted) - set(names)), sorted(set(names) - set(wanted))
        if missing or extra:
            raise broken(
                "RESULT_COLUMN_NAMES_MISMATCH",
                missing=" Missing: %s." % ", ".join(missing) if missing else "",
                extra=" Unexpected: %s." % ", ".join(extra) if extra else "",
            )
        columns = [pa.array([0] * item.num_rows, pa.int32())]
        for field in fields:
            column = one_piece(item.column(field.name))
            columns.append(column if column.type == field.type else cast_result(column, field))
        self.channel.give(pa.RecordBatch.from_arrays(columns, schema=self.settings.schema))

    def flush(self):
        pass


def cast_result(column, field):
    try:
        return column.cast(field.type, safe=True)
    except Exception as error:
        raise broken(
            "RESULT_COLUMN_TYPES_MISMATCH",
            mismatch=" column '%s' (expected %s, actual %s)" % (field.name, field.type, column.type),
        ) from error


def null_checker(struct_type):
    """Refuses rows with a None, or with one inside of a value, where the type has none."""

    def missing(at):
        return broken(
            "UDTF_EXEC_ERROR",
            method_name="eval' or 'terminate",
            error="Column %d within a returned row had a value of None, either directly or within "
            "array/struct/map subfields, but the corresponding column type was declared as non-nullable; "
            "please update the UDTF to return a non-None value at this location or otherwise declare the "
            "column type as nullable." % at,
        )

    def check(value, data_type, nullable, at):
        name = data_type.typeName()
        if value is None:
            if not nullable:
                raise missing(at)
        elif name == "array" and isinstance(value, list):
            for v in value:
                check(v, data_type.elementType, data_type.containsNull, at)
        elif name == "map" and isinstance(value, dict):
            for k, v in value.items():
                check(k, data_type.keyType, False, at)
                check(v, data_type.valueType, data_type.valueContainsNull, at)
        elif name == "struct" and isinstance(value, tuple):
            for v, f in zip(value, data_type.fields):
                check(v, f.dataType, f.nullable, at)

    parts = [(f.dataType, f.nullable, i) for i, f in enumerate(struct_type.fields)]
    nested = ("array", "map", "struct")
    parts = [p for p in parts if not p[1] or p[0].typeName() in nested]

    def check_row(row):
        if isinstance(row, tuple):
            for data_type, nullable, i in parts:
                if i < len(row):
                    check(row[i], data_type, nullable, i)

    return check_row


TABLES = {300: PickledTable, 301: ArrowTable, 302: ArraysTable}


def table(channel, call, pickles):
    """A table function over the rows of a partition."""
    settings = Settings(call)
    set_task(call, call.get("partition", 0))
    run = TABLES[call["functions"][0]["eval"]](channel, call, pickles, settings)
    try:
        for batches in channel.groups():
            for batch in batches:
                run.batch(batch)
        run.finish()
    finally:
        run.clean()


# --- the method analyze ---


def analyze_table(channel, call, pickles):
    """What a table function says of a call before there are rows."""
    import pyarrow as pa

    settings = Settings(call)
    handler = load(pickles[0], call)
    if not isinstance(inspect.getattr_static(handler, "analyze", None), staticmethod):
        raise Told(
            "Failed to execute the user defined table function because it has no static method 'analyze' "
            "and was registered without a return type."
        )
    batch = next(channel.groups())[0]
    args, named = analyze_arguments(call, batch, settings)
    failed = "Failed to evaluate the user-defined table function '%s' because " % call["table"]["name"]
    try:
        inspect.signature(handler.analyze).bind(*args, **named)
    except TypeError as error:
        raise Told(
            failed + "the function arguments did not match the expected signature of the static 'analyze' "
            "method (%s)." % error
        )
    result = handler.analyze(*args, **named)
    wrong = analysis_mistake(result, any(call["table"].get("table") or []))
    if wrong:
        raise Told(failed + "the static 'analyze' method " + wrong)
    said = {
        "Schema": json.loads(result.schema.json()),
        "Single": bool(result.withSinglePartition),
        "Partition": [c.name for c in result.partitionBy],
        "Order": [
            {"Expr": c.name, "Ascending": bool(c.ascending), "NullsFirst": c.overrideNullsFirst}
            for c in result.orderBy
        ],
        "Select": [{"Expr": c.name, "Alias": c.alias} for c in result.select],
    }
    columns = [pa.array([json.dumps(said)], pa.string()), pa.array([cloudpickle.dumps(result)], pa.binary())]
    channel.give(pa.RecordBatch.from_arrays(columns, schema=settings.schema))


def analyze_arguments(call, batch, settings):
    from pyspark.sql.udtf import AnalyzeArgument

    args, named = [], {}
    for i, described in enumerate(call["functions"][0]["args"]):
        data_type = settings.input.fields[i].dataType
        constant = call["table"]["constant"][i]
        argument = AnalyzeArgument(
            dataType=data_type,
            value=python_values(batch.column(i), data_type)[0] if constant else None,
            isTable=call["table"]["table"][i],
            isConstantExpression=constant,
        )
        if described.get("name"):
            named[described["name"]] = argument
        else:
            args.append(argument)
    return args, named


def analysis_mistake(result, has_table):
    """What is wrong with the result of an analyze, if anything is."""
    from pyspark.sql.functions import OrderingColumn, PartitioningColumn, SelectedColumn
    from pyspark.sql.types import StructType
    from pyspark.sql.udtf import AnalyzeResult

    if not isinstance(result, AnalyzeResult):
        return "expects a result of type pyspark.sql.udtf.AnalyzeResult, but it returned a %s" % type(result)
    if not isinstance(result.schema, StructType):
        return "returned an 'AnalyzeResult' whose 'schema' is a %s, not a StructType" % type(result.schema)
    if not has_table and (result.withSinglePartition or len(result.partitionBy) > 0):
        field = "withSinglePartition" if result.withSinglePartition else "partitionBy"
        return "returned an 'AnalyzeResult' object with the '%s' field set, but the call has no table" % field
    kinds = {"partitionBy": PartitioningColumn, "orderBy": OrderingColumn, "select": SelectedColumn}
    for field, kind in kinds.items():
        value = getattr(result, field)
        if not isinstance(value, (list, tuple)) or not all(isinstance(v, kind) for v in value):
            return "returned an 'AnalyzeResult' object whose '%s' is no list of '%s' objects" % (field, kind.__name__)
    return None


CALLS["table"] = table
CALLS["analyzeTable"] = analyze_table
