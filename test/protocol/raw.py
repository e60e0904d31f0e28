"""Spark Connect without the client: requests as protobuf or as bytes, answers as facts."""
import json
import os
import uuid

import grpc
import pyspark.sql.connect.proto as pb
from google.rpc import error_details_pb2, status_pb2

TARGET = os.environ["SPARK_REMOTE"][len("sc://"):].split("/")[0]
LIMIT = 1 << 30
channel = grpc.insecure_channel(TARGET, options=[
    ("grpc.max_send_message_length", LIMIT), ("grpc.max_receive_message_length", LIMIT),
    ("grpc.max_metadata_size", 1 << 20),
])
SESSION = str(uuid.uuid4())
USER = pb.UserContext(user_id=os.environ.get("USER", "somebody"))
STREAMS = {"ExecutePlan", "ReattachExecute"}


def call(rpc, request, deadline=60):
    """Sends a message or bytes; yields the answers as messages."""
    body = request if isinstance(request, bytes) else request.SerializeToString(deterministic=True)
    answer = {"ExecutePlan": pb.ExecutePlanResponse, "ReattachExecute": pb.ExecutePlanResponse}.get(
        rpc) or getattr(pb, rpc.replace("ArtifactStatus", "ArtifactStatuses") + "Response")
    path = f"/spark.connect.SparkConnectService/{rpc}"
    if rpc == "AddArtifacts":
        bodies = body if isinstance(body, list) else [body]
        yield answer.FromString(channel.stream_unary(path)(iter(bodies), timeout=deadline))
    elif rpc in STREAMS:
        for piece in channel.unary_stream(path)(body, timeout=deadline):
            yield answer.FromString(piece)
    else:
        yield answer.FromString(channel.unary_unary(path)(body, timeout=deadline))


def facts(rpc, request, deadline=60):
    """What came of a request: {"code", "reason", "condition", "message", "answers"}."""
    said = {"code": "OK", "reason": None, "condition": None, "message": "", "answers": 0}
    try:
        for _ in call(rpc, request, deadline):
            said["answers"] += 1
    except grpc.RpcError as e:
        said["code"], said["message"] = e.code().name, (e.details() or "")[:300]
        details = dict(e.trailing_metadata() or ()).get("grpc-status-details-bin")
        for any_ in status_pb2.Status.FromString(details).details if details else []:
            info = error_details_pb2.ErrorInfo()
            if any_.Unpack(info):
                said["reason"], said["condition"] = info.reason, info.metadata.get("errorClass")
    return said


def execute(plan=None, command=None, relation=None, session=SESSION, operation=None, reattachable=False):
    """An ExecutePlan request for a plan, a command or a relation."""
    if command is not None:
        plan = pb.Plan(command=command)
    if relation is not None:
        plan = pb.Plan(root=relation)
    request = pb.ExecutePlanRequest(session_id=session, user_context=USER, plan=plan, operation_id=operation)
    if reattachable:
        request.request_options.add().reattach_options.reattachable = True
    return request


def say(what, **more):
    print(json.dumps({"what": what, **more}), flush=True)
