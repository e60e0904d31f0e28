# Part of weir_worker.py: stateful processors, with the handle that they get.

# --- stateful processors ---

PUT, REMOVED, CLEARED = 0, 1, 2


def refused(doing, condition, sentence, state):
    from pyspark.errors import PySparkRuntimeError

    return PySparkRuntimeError("Error %s: [%s] %s SQLSTATE: %s" % (doing, condition, sentence, state))


def plain_value(v):
    """A value without types of NumPy and pandas."""
    if type(v) in (bool, int, float, str, bytes, type(None)):
        return v
    if type(v).__module__ == "numpy" and hasattr(v, "tolist"):
        return v.tolist()
    if isinstance(v, tuple) and hasattr(v, "_fields"):
        return type(v)(*map(plain_value, v))
    if isinstance(v, tuple) and hasattr(v, "__fields__"):
        return type(v)(*map(plain_value, v))
    if isinstance(v, (list, tuple)):
        return type(v)(map(plain_value, v))
    if isinstance(v, dict):
        return {plain_value(k): plain_value(x) for k, x in v.items()}
    if hasattr(v, "to_pytimedelta"):
        return v.to_pytimedelta()
    if hasattr(v, "to_pydatetime"):
        return v.to_pydatetime()
    return v


def frozen(v):
    """A value as a key of a dict."""
    if isinstance(v, float) and v != v:
        return "NaN"
    if isinstance(v, dict):
        return tuple(sorted((frozen(k), frozen(x)) for k, x in v.items()))
    if isinstance(v, (list, tuple)):
        return tuple(frozen(x) for x in v)
    return v


class StateForm:
    """How tuples of one schema become Arrow and come back."""

    def __init__(self, struct_type, arrow_type):
        from pyspark.sql.conversion import ArrowTableToRowsConversion

        self.type, self.arrow_type = struct_type, arrow_type
        self.lenient = lenient(struct_type)
        self.convert = ArrowTableToRowsConversion._create_converter(struct_type)

    def checked(self, value, doing):
        value = tuple(map(plain_value, value))
        if len(value) != len(self.type.fields):
            raise refused(
                doing,
                "STRUCT_ARRAY_LENGTH_MISMATCH",
                "Input row doesn't have expected number of values required by the schema. "
                "%d fields are required while %d values are provided." % (len(self.type.fields), len(value)),
                "2201E",
            )
        return self.lenient(value)

    def column(self, values):
        import pyarrow as pa

        return pa.array(values, type=self.arrow_type)

    def rows(self, column):
        return [self.convert(v) for v in column.to_pylist()]

    def row(self, value):
        """What a value looks like when it is read again."""
        return self.rows(self.column([value]))[0]


class Elements:
    """What came along of a list or map: rows of Arrow, and where those of each group begin."""

    def __init__(self, counts, batch):
        self.counts, self.batch = counts, batch
        self.starts, at = [], 0
        for n in counts:
            self.starts.append(at)
            at += max(n, 0)

    def of(self, group):
        """The rows of a group; None when they did not come along."""
        n = self.counts[group]
        if n < 0:
            return None
        return [self.batch.slice(self.starts[group], n)] if n else []


class Held:
    """A variable: what it holds of the group at hand, and what became of all groups of a turn."""

    def __init__(self, told, number, schema, world):
        self.name, self.kind, self.number, self.schema, self.world = told["name"], told["kind"], number, schema, world
        value = parse_type(told["value"])
        self.value = StateForm(value, schema.field("value").type) if hasattr(value, "fields") else None
        self.key = StateForm(parse_type(told["key"]), schema.field("key").type) if "key" in told else None
        self.changes = []

    def note(self, what, *columns):
        self.changes.append((self.world.group, what) + columns)

    def flush(self):
        import pyarrow as pa

        if not self.changes:
            return
        columns = [pa.array(c, type=f.type) for c, f in zip(zip(*self.changes), self.schema)]
        self.changes = []
        self.world.channel.change(self.number, pa.RecordBatch.from_arrays(columns, schema=self.schema))

    def turn(self, column, batch):
        """Takes what came along with the groups of a turn."""
        self.groups = {}
        self.column = column
        if self.kind != "ValueState":
            self.along = Elements(column.to_pylist(), batch)

    def all(self, group):
        """The elements that the state has for a group, as Arrow."""
        found = self.along.of(group)
        return self.world.ask(self.number, group) if found is None else found


class HeldValue(Held):
    def mine(self):
        if not self.groups:
            self.groups = dict(enumerate(self.value.rows(self.column)))
        return self.groups[self.world.group]

    def get(self):
        value = self.mine()
        if isinstance(value, dict):  # written in this turn
            value = self.groups[self.world.group] = self.value.row(value)
        return None if value is None else tuple(value)

    def exists(self):
        return self.mine() is not None

    def update(self, value):
        value = self.value.checked(value, "updating value state")
        self.mine()
        self.groups[self.world.group] = value
        self.note(PUT, value)
        self.world.updated += 1

    def clear(self):
        self.mine()
        self.groups[self.world.group] = None
        self.note(CLEARED, None)
        self.world.removed += 1

    def flush(self):
        # The last word counts.
        last = {}
        for change in self.changes:
            last[change[0]] = change
        self.changes = list(last.values())
        Held.flush(self)


class ListGroup:
    """What is known of a list: whether the state's elements were cleared, and those added since."""

    def __init__(self, had):
        self.had, self.cleared, self.added = had, False, []


class HeldList(Held):
    def mine(self):
        group = self.world.group
        if group not in self.groups:
            self.groups[group] = ListGroup(self.along.counts[group])
        return self.groups[group]

    def stored(self):
        group = self.mine()
        if group.cleared or group.had == 0:
            return []
        return [row for batch in self.all(self.world.group) for row in self.value.rows(batch.column(0))]

    def get(self):
        mine = self.mine()
        added = self.value.rows(self.value.column(mine.added)) if mine.added else []
        return iter([tuple(row) for row in self.stored() + added])

    def exists(self):
        mine = self.mine()
        if mine.added:
            return True
        if mine.cleared or mine.had == 0:
            return False
        return mine.had > 0 or bool(self.stored())

    def add(self, values):
        values = [self.value.checked(v, "updating value state") for v in values]
        if not values:
            raise refused(
                "updating value state",
                "ILLEGAL_STATE_STORE_VALUE.EMPTY_LIST_VALUE",
                "Illegal value provided to the State Store Cannot write empty list values to State Store for "
                "StateName %s." % self.name,
                "42601",
            )
        return values

    def append(self, values):
        values = self.add(values)
        self.mine().added += values
        self.world.updated += len(values)

    def put(self, values):
        values = self.add(values)
        mine = self.mine()
        mine.cleared, mine.added = True, values
        self.world.updated += len(values)

    def clear(self):
        mine = self.mine()
        self.world.removed += len(mine.added)
        if not mine.cleared and mine.had:
            self.world.removed += mine.had if mine.had > 0 else sum(b.num_rows for b in self.all(self.world.group))
        mine.cleared, mine.added = True, []

    def flush(self):
        for group, mine in self.groups.items():
            if mine.cleared and mine.had:
                self.changes.append((group, CLEARED, None))
            self.changes += [(group, PUT, v) for v in mine.added]
        self.groups = {}
        Held.flush(self)


class MapGroup:
    """What is known of a map: entries by frozen key, of which None is one that is not there, and whether
    these are all."""

    def __init__(self, had):
        self.had, self.whole, self.cleared = had, had == 0, False
        self.known, self.written = {}, {}


class HeldMap(Held):
    def mine(self):
        group = self.world.group
        if group not in self.groups:
            mine = self.groups[group] = MapGroup(self.along.counts[group])
            if mine.had > 0:
                self.learn(mine)
        return self.groups[group]

    def learn(self, mine):
        """Takes all entries of the state in, below those that were written."""
        known = {}
        for batch in self.all(self.world.group):
            for row, value in zip(self.key.rows(batch.column(0)), self.value.rows(batch.column(1))):
                known[self.frozen(row)] = (row, value)
        known.update(mine.known)
        mine.known, mine.whole = known, True

    def frozen(self, row):
        return frozen(tuple(self.key.lenient(tuple(row)).values()))

    def entry(self, key):
        """The entry of a key, None when there is none."""
        mine = self.mine()
        key = self.key.checked(key, "getting value")
        name = frozen(tuple(key.values()))
        if name not in mine.known and not mine.whole:
            batches = self.world.ask(self.number, self.world.group, self.key.column([key]))
            found = [(k, v) for b in batches for k, v in zip(self.key.rows(b.column(0)), self.value.rows(b.column(1)))]
            mine.known[name] = found[0] if found else None
        found = mine.known.get(name)
        if found is not None and isinstance(found[1], dict):
            found = mine.known[name] = (self.key.row(found[0]), self.value.row(found[1]))
        return found

    def get_value(self, key):
        found = self.entry(key)
        return None if found is None else found[1]

    def contains(self, key):
        return self.entry(key) is not None

    def update(self, key, value):
        mine = self.mine()
        key = self.key.checked(key, "updating map state value")
        value = self.value.checked(value, "updating map state value")
        name = frozen(tuple(key.values()))
        mine.known[name], mine.written[name] = (key, value), (PUT, key, value)
        self.world.updated += 1

    def remove(self, key):
        mine = self.mine()
        key = self.key.checked(key, "removing key from map state")
        name = frozen(tuple(key.values()))
        mine.known[name], mine.written[name] = None, (REMOVED, key, None)
        self.world.removed += 1

    def entries(self):
        mine = self.mine()
        if not mine.whole:
            self.learn(mine)
        for name, found in mine.known.items():
            if found is not None and isinstance(found[1], dict):
                mine.known[name] = (self.key.row(found[0]), self.value.row(found[1]))
        return [(tuple(k), tuple(v)) for k, v in (e for e in mine.known.values() if e is not None)]

    def exists(self):
        mine = self.mine()
        if any(e is not None for e in mine.known.values()):
            return True
        return False if mine.whole else bool(self.entries())

    def clear(self):
        mine = self.mine()
        self.world.removed += len(self.entries())
        mine.known, mine.written, mine.whole, mine.cleared = {}, {}, True, True

    def flush(self):
        for group, mine in self.groups.items():
            if mine.cleared and mine.had:
                self.changes.append((group, CLEARED, None, None))
            self.changes += [(group,) + w for w in mine.written.values() if not (mine.cleared and w[0] == REMOVED)]
        self.groups = {}
        Held.flush(self)


class HeldTimers(Held):
    def mine(self):
        group = self.world.group
        if group not in self.groups:
            stored = [at for batch in self.all(group) for at in batch.column(0).to_pylist()]
            self.groups[group] = (set(stored), set(stored))  # as they were, as they are
        return self.groups[group]

    def register(self, at):
        self.mine()[1].add(int(at))

    def delete(self, at):
        self.mine()[1].discard(int(at))

    def list(self):
        return iter(sorted(self.mine()[1]))

    def flush(self):
        for group, (before, now) in self.groups.items():
            self.changes += [(group, REMOVED, at) for at in before - now]
            self.changes += [(group, PUT, at) for at in now - before]
        self.groups = {}
        Held.flush(self)


HELD = {"ValueState": HeldValue, "ListState": HeldList, "MapState": HeldMap}


def state_classes():
    """What processors get: PySpark's classes over variables that are held here."""
    from pyspark.sql.streaming.stateful_processor import ListState, MapState, StatefulProcessorHandle, ValueState

    class Value(ValueState):
        def __init__(self, held):
            self.held = held

        def exists(self):
            return self.held().exists()

        def get(self):
            return self.held().get()

        def update(self, newValue):
            self.held().update(newValue)

        def clear(self):
            self.held().clear()

    class List(ListState):
        def __init__(self, held):
            self.held = held

        def exists(self):
            return self.held().exists()

        def get(self):
            return self.held().get()

        def put(self, newState):
            self.held().put(newState)

        def appendValue(self, newState):
            self.held().append([newState])

        def appendList(self, newState):
            self.held().append(newState)

        def clear(self):
            self.held().clear()

    class Map(MapState):
        def __init__(self, held):
            self.held = held

        def exists(self):
            return self.held().exists()

        def getValue(self, key):
            return self.held().get_value(key)

        def containsKey(self, key):
            return self.held().contains(key)

        def updateValue(self, key, value):
            self.held().update(key, value)

        def iterator(self):
            return iter(self.held().entries())

        def keys(self):
            return iter([k for k, _ in self.held().entries()])

        def values(self):
            return iter([v for _, v in self.held().entries()])

        def removeKey(self, key):
            self.held().remove(key)

        def clear(self):
            self.held().clear()

    kinds = {"ValueState": Value, "ListState": List, "MapState": Map}

    class Handle(StatefulProcessorHandle):
        """world is what holds the variables; None while a processor is asked for them, and then parse
        makes types of texts."""

        def __init__(self, time_mode, world, parse=None):
            self.time_mode, self.world, self.parse = time_mode, world, parse
            self.declared, self.deleted, self.open = [], [], True

        def declare(self, doing, kind, name, ttl, **schemas):
            self.only_init(doing)
            if ttl is not None and self.time_mode != "ProcessingTime":
                raise refused(
                    "initializing %s state" % doing.split("_")[1],
                    "STATEFUL_PROCESSOR_INCORRECT_TIME_MODE_TO_ASSIGN_TTL",
                    "Cannot use TTL for state=%s in timeMode=%s, use TimeMode.ProcessingTime() instead."
                    % (name, self.time_mode),
                    "42802",
                )
            if ttl is not None and ttl <= 0:
                raise refused(
                    "initializing %s state" % doing.split("_")[1],
                    "STATEFUL_PROCESSOR_TTL_DURATION_MUST_BE_POSITIVE",
                    "TTL duration must be greater than zero for State store operation=%s on state=%s."
                    % (doing, name),
                    "42802",
                )
            if any(v["name"] == name for v in self.declared):
                raise refused(
                    "initializing %s state" % doing.split("_")[1],
                    "STATEFUL_PROCESSOR_DUPLICATE_STATE_VARIABLE_DEFINED",
                    "State variable with name %s has already been defined in the StatefulProcessor." % name,
                    "42802",
                )
            variable = {"name": name, "kind": kind, "ttl": ttl or 0}
            if self.world is None:
                variable.update({k: self.parse(v, doing.split("_")[1]) for k, v in schemas.items()})
            self.declared.append(variable)
            return kinds[kind](lambda: self.held(name))

        def held(self, name):
            from pyspark.errors import PySparkRuntimeError

            if self.world is None or self.world.group is None:
                raise PySparkRuntimeError("The state variable %s can be used where there is a group only." % name)
            return self.world.variables[name]

        def only_init(self, doing):
            if not self.open:
                what = {"get": "initializing %s state" % doing.split("_")[1], "delete": "deleting state"}
                raise refused(
                    what[doing.split("_")[0]],
                    "STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_HANDLE_STATE",
                    "Failed to perform stateful processor operation=%s with invalid handle state=INITIALIZED." % doing,
                    "42802",
                )

        def timed(self, doing, operation):
            if self.time_mode == "NoTime":
                raise refused(
                    doing,
                    "STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_TIME_MODE",
                    "Failed to perform stateful processor operation=%s with invalid timeMode=NoTime" % operation,
                    "42802",
                )
            if self.open or self.world.group is None:
                raise refused(
                    doing,
                    "STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_HANDLE_STATE",
                    "Failed to perform stateful processor operation=%s with invalid handle state=CREATED." % operation,
                    "42802",
                )
            return self.world.timers

        def getValueState(self, stateName, schema, ttlDurationMs=None):
            return self.declare("get_value_state", "ValueState", stateName, ttlDurationMs, value=schema)

        def getListState(self, stateName, schema, ttlDurationMs=None):
            return self.declare("get_list_state", "ListState", stateName, ttlDurationMs, value=schema)

        def getMapState(self, stateName, userKeySchema, valueSchema, ttlDurationMs=None):
            return self.declare(
                "get_map_state", "MapState", stateName, ttlDurationMs, key=userKeySchema, value=valueSchema
            )

        def registerTimer(self, expiryTimestampMs):
            self.timed("register timer", "register_timer").register(expiryTimestampMs)

        def deleteTimer(self, expiryTimestampMs):
            self.timed("deleting timer", "delete_timer").delete(expiryTimestampMs)

        def listTimers(self):
            return self.timed("listing timers", "list_timers").list()

        def deleteIfExists(self, stateName):
            self.only_init("delete_if_exists")
            self.deleted.append(stateName)

    return Handle


def describe(channel, call, pickles):
    """Asks a processor for its variables."""
    processor = load(pickles[0], call)[0].__self__._stateful_processor

    def parse(schema, what):
        if not isinstance(schema, str):
            return json.loads(schema.json())
        channel.send(ASK, json.dumps({"Parse": schema}).encode())
        answer = channel.turn().note
        if "Error" in answer:
            from pyspark.errors import PySparkRuntimeError

            raise PySparkRuntimeError("Error parsing string schema: %s" % answer["Error"])
        return answer["Type"]

    handle = state_classes()(call["state"]["told"]["timeMode"], None, parse)
    processor.init(handle)
    processor.close()
    said = {"Variables": handle.declared, "Deleted": handle.deleted}
    channel.send(ASK, json.dumps(said).encode())
    channel.turn()
    for _ in channel.turns():
        pass


class ProcessorCall:
    """A call of a stateful processor: what it holds from turn to turn. Each partition has a processor of its
    own, as if it were a task."""

    def __init__(self, channel, call, pickles, by_rows):
        self.channel, self.call, self.pickle, self.by_rows = channel, call, pickles[0], by_rows
        self.settings = Settings(call)
        self.told = call["state"]["told"]
        self.keys = parse_type(self.told["keys"])
        self.initial = parse_type(self.told.get("initial"))
        schemas = [read_schema(text) for text in call["state"]["changes"]]
        held = self.told["variables"]
        self.variables = {
            v["name"]: HELD[v["kind"]](v, i, schemas[i], self) for i, v in enumerate(held[:-1])
        }
        self.timers = HeldTimers(held[-1], len(held) - 1, schemas[len(held) - 1], self)
        self.counts = schemas[-1]
        self.updated = self.removed = 0
        self.group = None
        self.processors = {}
        self.handle = state_classes()
        self.giver = RowGiver(channel, self.settings) if by_rows else FrameGiver(channel, self.settings)

    def ask(self, number, group, key=None):
        """Elements that did not come along."""
        import pyarrow as pa

        head = json.dumps({"Variable": number, "Group": group, "Key": key is not None}).encode()
        payload = struct.pack(">I", len(head)) + head
        if key is not None:
            payload += write_batch(pa.RecordBatch.from_arrays([key], names=["key"])).to_pybytes()
        self.channel.send(ASK, payload)
        return self.channel.turn().all("elements")

    def processor(self, part):
        set_task(self.call, part)
        if part not in self.processors:
            processor = load(self.pickle, self.call)[0].__self__._stateful_processor
            handle = self.handle(self.told["timeMode"], self)
            self.group = None
            processor.init(handle)
            handle.open = False
            self.processors[part] = processor
        return self.processors[part]

    def close(self):
        self.group = None
        for processor in self.processors.values():
            processor.close()

    def times(self):
        from pyspark.sql.streaming.stateful_processor import TimerValues

        if self.told["timeMode"] == "NoTime":
            return TimerValues(-1, -1)
        return TimerValues(self.told["now"], self.told["watermark"])

    def turn(self, turn):
        processor, do = self.processor(turn.note["part"]), turn.note["do"]
        groups = turn.one("groups")
        width = len(self.keys.fields)
        keys = self.keys_of(groups.columns[:width])
        held = list(self.variables.values()) + [self.timers]
        for i, variable in enumerate(held):
            variable.turn(groups.column(width + i), turn.one("elements", i))
        struct_type = self.initial if do == "initial" else self.settings.input
        source = (PlainRows if self.by_rows else ProcessorRows)(turn.all("rows"), struct_type, self.settings)
        work = {"initial": self.begin, "rows": self.go_on, "timers": self.expire}[do]
        for each in turn.note["calls"]:
            self.group = each["group"]
            work(processor, keys[self.group], each, source)
        self.group = None
        self.giver.flush()
        for variable in held:
            variable.flush()
        self.count()

    def keys_of(self, columns):
        if self.by_rows:
            return list(zip(*[c.to_pylist() for c in columns]))
        lists = []
        for column, field in zip(columns, self.keys.fields):
            if divisible_column(column):
                lists.append(list(series_of(column, field.dataType, self.settings, "dict")))
            else:
                lists.append(column.to_pylist())
        return list(zip(*lists))

    def go_on(self, processor, key, each, source):
        taken = Taken(source, each["rows"])
        self.giver.take(processor.handleInputRows(key, taken.frames(), self.times()))
        taken.finish()

    def begin(self, processor, key, each, source):
        for state in Taken(source, each["rows"]).frames():
            processor.handleInitialState(key, state, self.times())

    def expire(self, processor, key, each, source):
        from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo

        self.giver.take(
            processor.handleExpiredTimer(
                key=key, timerValues=self.times(), expiredTimerInfo=ExpiredTimerInfo(each["at"])
            )
        )
        self.timers.delete(each["at"])

    def count(self):
        import pyarrow as pa

        columns = [pa.array([self.updated], pa.int64()), pa.array([self.removed], pa.int64())]
        self.channel.change(len(self.variables) + 1, pa.RecordBatch.from_arrays(columns, schema=self.counts))
        self.updated = self.removed = 0


def transform(channel, call, pickles, by_rows=False):
    """transformWithState: a stateful processor over groups, first states and timers."""
    calls = ProcessorCall(channel, call, pickles, by_rows)
    for turn in channel.turns():
        calls.turn(turn)
    calls.close()


def transform_rows(channel, call, pickles):
    transform(channel, call, pickles, True)


CALLS.update({"transform": transform, "transformRows": transform_rows, "describe": describe})
