"""A gRPC proxy that forwards every call of Spark Connect byte by byte and keeps what went by."""
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc

UNARY = ["AnalyzePlan", "Config", "ArtifactStatus", "Interrupt", "ReleaseExecute", "ReleaseSession",
         "FetchErrorDetails", "CloneSession", "GetStatus"]
SERVER_STREAMS = ["ExecutePlan", "ReattachExecute"]
CLIENT_STREAMS = ["AddArtifacts"]
SERVICE = "spark.connect.SparkConnectService"
OPTIONS = [("grpc.max_receive_message_length", 1 << 30), ("grpc.max_send_message_length", 1 << 30),
           ("grpc.max_metadata_size", 1 << 20), ("grpc.absolute_max_metadata_size", 1 << 20)]
# Metadata that belongs to one hop.
HOP = {"user-agent", "content-type", "te", "grpc-accept-encoding", "grpc-encoding", "grpc-timeout"}


class Tap(grpc.GenericRpcHandler):
    """events are (stream, rpc, what, value): what is request or response with bytes,
    or end with (code, details, trailing metadata)."""

    def __init__(self, upstream):
        self.events, self.streams = [], itertools.count(1)
        self.channel = grpc.insecure_channel(upstream, options=OPTIONS)
        # A stream of events holds its thread for as long as it lives.
        self.server = grpc.server(ThreadPoolExecutor(128), handlers=[self], options=OPTIONS)
        self.port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def stop(self):
        self.server.stop(0.2).wait()
        self.channel.close()

    def service(self, details):
        rpc = details.method.rsplit("/", 1)[1]
        metadata = [(k, v) for k, v in details.invocation_metadata if k not in HOP]
        if rpc in UNARY:
            return grpc.unary_unary_rpc_method_handler(lambda r, c: self.unary(rpc, metadata, r, c))
        if rpc in SERVER_STREAMS:
            return grpc.unary_stream_rpc_method_handler(lambda r, c: self.server_stream(rpc, metadata, r, c))
        if rpc in CLIENT_STREAMS:
            return grpc.stream_unary_rpc_method_handler(lambda r, c: self.client_stream(rpc, metadata, r, c))
        return None

    def unary(self, rpc, metadata, request, context):
        stream = next(self.streams)
        self.events.append((stream, rpc, "request", request))
        call = self.channel.unary_unary(f"/{SERVICE}/{rpc}").future(request, metadata=metadata)
        return self.answer(stream, rpc, call, context)

    def client_stream(self, rpc, metadata, requests, context):
        stream = next(self.streams)

        def forwarded():
            for request in requests:
                self.events.append((stream, rpc, "request", request))
                yield request
        call = self.channel.stream_unary(f"/{SERVICE}/{rpc}").future(forwarded(), metadata=metadata)
        return self.answer(stream, rpc, call, context)

    def server_stream(self, rpc, metadata, request, context):
        stream = next(self.streams)
        self.events.append((stream, rpc, "request", request))
        left = context.time_remaining()
        call = self.channel.unary_stream(f"/{SERVICE}/{rpc}")(
            request, metadata=metadata, timeout=left if left and left < 1e8 else None)
        ended = threading.Event()
        context.add_callback(lambda: ended.is_set() or call.cancel())
        try:
            for response in call:
                self.events.append((stream, rpc, "response", response))
                yield response
        except grpc.RpcError:
            pass  # end tells
        ended.set()
        self.end(stream, rpc, call, context)

    def answer(self, stream, rpc, call, context):
        response = b""
        try:
            response = call.result()
            self.events.append((stream, rpc, "response", response))
        except grpc.RpcError:
            pass  # end tells
        self.end(stream, rpc, call, context)
        return response

    def end(self, stream, rpc, call, context):
        code, details, trailers = call.code(), call.details() or "", tuple(call.trailing_metadata() or ())
        self.events.append((stream, rpc, "end", (code.name, details, trailers)))
        context.set_trailing_metadata(tuple((k, v) for k, v in trailers if k not in HOP))
        context.set_code(code)
        context.set_details(details)
