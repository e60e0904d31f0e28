"""Sends requests that are wrong; prints what came of each."""
import json
import os
import random
import struct
import sys
import uuid
import zlib

import pyarrow as pa
import pyspark.sql.connect.proto as pb
import zstandard
from google.protobuf.descriptor import FieldDescriptor as FD

import raw

DEPTH = 10_000
ONE = pb.Relation(range=pb.Range(start=0, end=1, step=1))


def arms(message, oneof):
    return [f for f in message.DESCRIPTOR.oneofs_by_name[oneof].fields]


def field(number, kind, payload):
    """One field in wire form; kind 2 has a length."""
    def varint(n):
        out = b""
        while n > 0x7f:
            out += bytes([n & 0x7f | 0x80])
            n >>= 7
        return out + bytes([n])
    return varint(number << 3 | kind) + (varint(len(payload)) + payload if kind == 2 else payload)


def nested(message, path, inner, depth):
    """A message that holds itself depth times along a path of field names."""
    numbers, at = [], message.DESCRIPTOR
    for name in path:
        numbers.append(at.fields_by_name[name].number)
        at = at.fields_by_name[name].message_type
    for _ in range(depth):
        for number in reversed(numbers):
            inner = field(number, 2, inner)
    return inner


def request_around(root):
    """An ExecutePlan request with a root relation in wire form."""
    request = raw.execute(plan=pb.Plan())
    request.ClearField("plan")
    plan = field(pb.Plan.DESCRIPTOR.fields_by_name["root"].number, 2, root)
    number = pb.ExecutePlanRequest.DESCRIPTOR.fields_by_name["plan"].number
    return request.SerializeToString() + field(number, 2, plan)


def select(expression):
    """A relation in wire form that selects an expression in wire form."""
    names = pb.Project.DESCRIPTOR.fields_by_name
    body = field(names["input"].number, 2, ONE.SerializeToString())
    body += field(names["expressions"].number, 2, expression)
    return field(pb.Relation.DESCRIPTOR.fields_by_name["project"].number, 2, body)


def strange_enums(message, into, depth=0):
    """Sets every enum field of a message, and of those that it may hold, to 999."""
    for f in message.DESCRIPTOR.fields:
        repeated = f.is_repeated if hasattr(f, "is_repeated") else f.label == FD.LABEL_REPEATED
        if f.type == FD.TYPE_ENUM and not repeated:
            setattr(into, f.name, 999)
        elif f.type == FD.TYPE_MESSAGE and not repeated and not f.containing_oneof and depth < 2:
            if f.message_type.full_name == "spark.connect.Relation":
                getattr(into, f.name).CopyFrom(ONE)
            else:
                strange_enums(getattr(message, f.name), getattr(into, f.name), depth + 1)
    return into


def empty_arms():
    """Every alternative of every oneof, empty and with unknown enums."""
    yield "relation unset", "ExecutePlan", raw.execute(relation=pb.Relation())
    for f in arms(pb.Relation, "rel_type"):
        r = pb.Relation()
        getattr(r, f.name).SetInParent()
        yield f"relation {f.name}", "ExecutePlan", raw.execute(relation=r)
        strange_enums(getattr(r, f.name), getattr(r, f.name))
        yield f"relation {f.name}, enums", "ExecutePlan", raw.execute(relation=r)
        yield f"analyze {f.name}", "AnalyzePlan", pb.AnalyzePlanRequest(
            session_id=raw.SESSION, user_context=raw.USER,
            schema=pb.AnalyzePlanRequest.Schema(plan=pb.Plan(root=r)))
    for f in arms(pb.Catalog, "cat_type"):
        r = pb.Relation()
        getattr(r.catalog, f.name).SetInParent()
        yield f"catalog {f.name}", "ExecutePlan", raw.execute(relation=r)
    yield "expression unset", "ExecutePlan", request_around(select(b""))
    for f in arms(pb.Expression, "expr_type"):
        e = pb.Expression()
        getattr(e, f.name).SetInParent()
        yield f"expression {f.name}", "ExecutePlan", request_around(select(e.SerializeToString()))
        strange_enums(getattr(e, f.name), getattr(e, f.name))
        yield f"expression {f.name}, enums", "ExecutePlan", request_around(select(e.SerializeToString()))
    for f in arms(pb.Expression.Literal, "literal_type"):
        if f.type == FD.TYPE_MESSAGE:
            e = pb.Expression()
            getattr(e.literal, f.name).SetInParent()
            yield f"literal {f.name}", "ExecutePlan", request_around(select(e.SerializeToString()))
    for f in arms(pb.DataType, "kind"):
        if f.type == FD.TYPE_MESSAGE:
            e = pb.Expression()
            e.cast.expr.literal.integer = 1
            getattr(e.cast.type, f.name).SetInParent()
            yield f"type {f.name}", "ExecutePlan", request_around(select(e.SerializeToString()))
    yield "command unset", "ExecutePlan", raw.execute(command=pb.Command())
    for f in arms(pb.Command, "command_type"):
        c = pb.Command()
        getattr(c, f.name).SetInParent()
        yield f"command {f.name}", "ExecutePlan", raw.execute(command=c)
        strange_enums(getattr(c, f.name), getattr(c, f.name))
        yield f"command {f.name}, enums", "ExecutePlan", raw.execute(command=c)


def envelopes():
    """Requests that are wrong before their plan."""
    for rpc in ("ExecutePlan", "AnalyzePlan", "Config", "ArtifactStatus", "Interrupt", "ReattachExecute",
                "ReleaseExecute", "ReleaseSession", "FetchErrorDetails", "CloneSession", "GetStatus"):
        kind = getattr(pb, rpc.replace("ArtifactStatus", "ArtifactStatuses") + "Request")
        yield f"{rpc} empty", rpc, b""
        yield f"{rpc} garbage", rpc, b"\xff\xfe\xfd" * 50
        yield f"{rpc} truncated", rpc, raw.execute(relation=ONE).SerializeToString()[:-3]
        yield f"{rpc} session", rpc, kind(session_id="not a uuid", user_context=raw.USER)
        yield f"{rpc} hostile session", rpc, kind(session_id="../../etc/passwd", user_context=raw.USER)
        if rpc != "ReleaseSession":
            yield f"{rpc} bare", rpc, kind(session_id=raw.SESSION, user_context=raw.USER)
    for f in arms(pb.AnalyzePlanRequest, "analyze"):
        r = pb.AnalyzePlanRequest(session_id=raw.SESSION, user_context=raw.USER)
        getattr(r, f.name).SetInParent()
        yield f"analyze {f.name} empty", "AnalyzePlan", r
    for f in pb.ConfigRequest.Operation.DESCRIPTOR.fields:
        r = pb.ConfigRequest(session_id=raw.SESSION, user_context=raw.USER)
        getattr(r.operation, f.name).SetInParent()
        yield f"config {f.name} empty", "Config", r
    yield "operation id", "ExecutePlan", raw.execute(relation=ONE, operation="not a uuid")
    yield "no plan", "ExecutePlan", raw.execute(plan=pb.Plan())
    interrupt = pb.InterruptRequest(session_id=raw.SESSION, user_context=raw.USER)
    interrupt.interrupt_type = 99
    yield "interrupt 99", "Interrupt", interrupt


def depths():
    """Things in things in things."""
    base = ONE.SerializeToString()
    for path in (["limit", "input"], ["project", "input"], ["filter", "input"], ["set_op", "left_input"],
                 ["join", "right"], ["subquery_alias", "input"]):
        yield f"nested {path[0]}", "ExecutePlan", request_around(nested(pb.Relation, path, base, DEPTH))
    literal = pb.Expression(literal=pb.Expression.Literal(integer=1)).SerializeToString()
    for path in (["alias", "expr"], ["cast", "expr"], ["unresolved_function", "arguments"]):
        deep = nested(pb.Expression, path, literal, DEPTH)
        yield f"nested {path[0]}", "ExecutePlan", request_around(select(deep))
    for name, text in {
        "parentheses": "SELECT " + "(" * DEPTH + "1" + ")" * DEPTH,
        "open parentheses": "SELECT " + "(" * DEPTH,
        "NOT": "SELECT " + "NOT " * DEPTH + "true",
        "minus": "SELECT " + "- " * DEPTH + "1",
        "sum": "SELECT 1" + " + 1" * DEPTH,
        "subqueries": "SELECT * FROM (" * DEPTH + "SELECT 1" + ")" * DEPTH,
        "cases": "SELECT " + "CASE WHEN true THEN " * DEPTH + "1" + " END" * DEPTH,
        "calls": "SELECT " + "abs(" * DEPTH + "1" + ")" * DEPTH,
        "types": "SELECT CAST(NULL AS " + "ARRAY<" * DEPTH + "INT" + ">" * DEPTH + ")",
        "unions": "SELECT 1" + " UNION ALL SELECT 1" * DEPTH,
        "with": "".join(f"WITH a{i} AS (" for i in range(DEPTH)) + "SELECT 1" + ") SELECT 1" * DEPTH,
        "nothing": "", "semicolons": ";;;", "quote": "SELECT '", "comment": "/*" * DEPTH, "nul": "SELECT \0",
        "bytes": "SELECT '" + "\ud7ff\U0010ffff\ufffe" * 9,
    }.items():
        yield f"sql {name}", "ExecutePlan", raw.execute(relation=pb.Relation(sql=pb.SQL(query=text)))
    for name, schema in {
        "ddl": "a " + "ARRAY<" * DEPTH + "INT" + ">" * DEPTH,
        "json": '{"type":"array","containsNull":true,"elementType":' * DEPTH + '"integer"' + "}" * DEPTH,
        "cut": '{"type":"struct","fields":[{"name":', "null": "null", "number": "17",
    }.items():
        r = pb.Relation(local_relation=pb.LocalRelation(schema=schema))
        yield f"schema {name}", "ExecutePlan", raw.execute(relation=r)
        yield f"schema {name} of a reader", "ExecutePlan", raw.execute(relation=pb.Relation(
            read=pb.Read(is_streaming=True, data_source=pb.Read.DataSource(format="json", schema=schema))))


def stream(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def arrows():
    """Bytes that are nearly Arrow."""
    table = pa.table({
        "n": pa.array([1, None, 3], pa.int64()), "s": pa.array(["a", None, "ccc"]),
        "l": pa.array([[1], None, []], pa.list_(pa.int32())),
        "d": pa.array(["x", "y", "x"]).dictionary_encode(),
    })
    good = stream(table.drop_columns(["d"]))
    local = lambda data, **more: raw.execute(  # noqa: E731
        relation=pb.Relation(local_relation=pb.LocalRelation(data=data, **more)))
    yield "arrow text", "ExecutePlan", local(b"this is not Arrow")
    yield "arrow nothing", "ExecutePlan", local(b"")
    yield "arrow magic", "ExecutePlan", local(b"ARROW1\0\0" + good)
    yield "arrow dictionary", "ExecutePlan", local(stream(table))
    yield "arrow length", "ExecutePlan", local(struct.pack("<iI", -1, 0x7fffffff) + good[8:])
    yield "arrow schema", "ExecutePlan", local(good, schema="n BIGINT")
    yield "arrow types", "ExecutePlan", local(good, schema="n STRING, s BIGINT, l DATE")
    for cut in range(0, len(good), max(1, len(good) // 40)):
        yield f"arrow cut at {cut}", "ExecutePlan", local(good[:cut])
    chance = random.Random(4)
    for i in range(300):
        spoiled = bytearray(good)
        for _ in range(chance.choice([1, 1, 2, 8])):
            spoiled[chance.randrange(len(spoiled))] = chance.choice([0, 1, 0x7f, 0x80, 0xff, chance.randrange(256)])
        yield f"arrow spoiled {i}", "ExecutePlan", local(bytes(spoiled))


def compressed():
    """Plans behind compression that hide something else."""
    def operation(data, codec=1, kind=1):
        plan = pb.Plan()
        plan.compressed_operation.data = data
        plan.compressed_operation.compression_codec = codec
        plan.compressed_operation.op_type = kind
        return raw.execute(plan=plan)
    pack = zstandard.ZstdCompressor(level=1).compress
    yield "zstd garbage", "ExecutePlan", operation(b"\x28\xb5\x2f\xfd" + b"\xff" * 100)
    yield "zstd nothing", "ExecutePlan", operation(b"")
    yield "zstd of garbage", "ExecutePlan", operation(pack(b"\xff" * 1000))
    yield "zstd cut", "ExecutePlan", operation(pack(os.urandom(5000))[:-10])
    yield "zstd codec", "ExecutePlan", operation(pack(b""), codec=99)
    yield "zstd kind", "ExecutePlan", operation(pack(ONE.SerializeToString()), kind=99)
    bomb = zstandard.ZstdCompressor(level=1).compressobj()
    packed = b"".join(bomb.compress(bytes(1 << 20)) for _ in range(600)) + bomb.flush()
    yield "zstd bomb", "ExecutePlan", operation(packed)


def artifacts():
    """Uploads with names and sums that lie."""
    def batch(name, data=b"x", crc=None):
        r = pb.AddArtifactsRequest(session_id=raw.SESSION, user_context=raw.USER)
        a = r.batch.artifacts.add(name=name)
        a.data.data, a.data.crc = data, zlib.crc32(data) if crc is None else crc
        return r
    for name in ("../../pwned", "/pwned", "pyfiles/../../../pwned", "cache/../pwned", "", ".", "files/", "nowhere/x",
                 "forward_to_fs//pwned", "cache/" + "0" * 64, "files/a\0b", "files/" + "x" * 5000, "archives/..",
                 "pyfiles/a/../../../../pwned", "files/..\\..\\pwned"):
        yield f"artifact {name[:40]!r}", "AddArtifacts", batch(name)
    yield "artifact nothing", "AddArtifacts", b""
    yield "artifact chunk", "AddArtifacts", pb.AddArtifactsRequest(
        session_id=raw.SESSION, user_context=raw.USER,
        chunk=pb.AddArtifactsRequest.ArtifactChunk(data=b"x", crc=zlib.crc32(b"x")))
    huge = pb.AddArtifactsRequest(session_id=raw.SESSION, user_context=raw.USER)
    huge.begin_chunk.name, huge.begin_chunk.total_bytes, huge.begin_chunk.num_chunks = "files/huge", 1 << 62, 1 << 62
    huge.begin_chunk.initial_chunk.data = b"x"
    huge.begin_chunk.initial_chunk.crc = zlib.crc32(b"x")
    yield "artifact that never ends", "AddArtifacts", huge
    for hash in ("0" * 64, "../../etc/passwd", ""):
        yield f"cached {hash[:20]!r}", "ExecutePlan", raw.execute(
            relation=pb.Relation(cached_local_relation=pb.CachedLocalRelation(hash=hash)))
        yield f"chunked {hash[:20]!r}", "ExecutePlan", raw.execute(relation=pb.Relation(
            chunked_cached_local_relation=pb.ChunkedCachedLocalRelation(dataHashes=[hash], schemaHash=hash)))
        yield f"cached frame {hash[:20]!r}", "ExecutePlan", raw.execute(
            relation=pb.Relation(cached_remote_relation=pb.CachedRemoteRelation(relation_id=hash)))


def numbers():
    """Sizes and counts that cannot be."""
    for name, r in {
        "range by 0": pb.Range(start=0, end=9, step=0),
        "range of all": pb.Range(start=-(1 << 63), end=(1 << 63) - 1, step=1 << 62, num_partitions=-5),
        "range in many parts": pb.Range(start=0, end=9, step=1, num_partitions=(1 << 31) - 1),
    }.items():
        yield name, "ExecutePlan", raw.execute(relation=pb.Relation(range=r))
    for n in (-1, -(1 << 31)):
        for kind in ("limit", "offset", "tail"):
            r = pb.Relation()
            getattr(r, kind).input.CopyFrom(ONE)
            setattr(getattr(r, kind), kind if kind == "offset" else "limit", n)
            yield f"{kind} {n}", "ExecutePlan", raw.execute(relation=r)
        for kind in ("show_string", "html_string"):
            r = pb.Relation()
            getattr(r, kind).input.CopyFrom(ONE)
            getattr(r, kind).num_rows = getattr(r, kind).truncate = n
            yield f"{kind} {n}", "ExecutePlan", raw.execute(relation=r)
    for low, high in ((5, 1), (float("nan"), float("nan")), (-1, 2)):
        r = pb.Relation(sample=pb.Sample(input=ONE, lower_bound=low, upper_bound=high))
        yield f"sample {low} {high}", "ExecutePlan", raw.execute(relation=r)
    for n in (0, -1, 1 << 30):
        r = pb.Relation(repartition=pb.Repartition(input=ONE, num_partitions=n, shuffle=True))
        yield f"repartition {n}", "ExecutePlan", raw.execute(relation=r)


# Alive at the end of each family: a server that fell over says so early.
for family in (envelopes, empty_arms, arrows, compressed, artifacts, numbers, depths):
    for name, rpc, request in family():
        raw.say(f"{family.__name__}: {name}", rpc=rpc, **raw.facts(rpc, request))
    raw.SESSION = str(uuid.uuid4())
    raw.say(f"{family.__name__}: alive", rpc="ExecutePlan", **raw.facts("ExecutePlan", raw.execute(relation=ONE)))
