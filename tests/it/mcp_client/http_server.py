"""A server over HTTP that repeats what it is sent: it prints its port, answers in events, and forgets its session now and then."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer

CALLS = []
LISTS = []


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one client."""

    def log_message(self, format, *args):
        pass

    def answer(self, status, kind, body, **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, token = message.get("method"), self.headers["Authorization"].removeprefix("Bearer ")
        if method == "server/discover":
            return self.answer(400, "text/plain", b"no session")
        if "id" not in message:
            return self.answer(202, "text/plain", b"")
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": token, "version": "1"}}
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
            return self.answer(200, "application/json", body, Mcp_Session_Id="s%d" % len(CALLS))
        if method == "tools/list":
            LISTS.append(message["id"])
            if len(LISTS) == 5:
                return self.answer(404, "text/plain", b"the session is gone")
            schema = {"type": "object", "properties": {}}
            tool = {"name": "repeat", "description": "Repeats " + token, "inputSchema": schema}
            result = {"result": {"tools": [tool]}}
        else:
            CALLS.append(message["params"]["arguments"].get("fail"))
            if len(CALLS) == 2:
                return self.answer(404, "text/plain", b"the session is gone")
            result = {"result": {"content": [{"type": "text", "text": "it is " + token}], "structuredContent": {token: [token]}}}
            if CALLS[-1] is True:
                result = {"error": {"code": -32000, "message": "it is " + token}}
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": token}}
        events = [note, {"jsonrpc": "2.0", "id": message["id"], **result}]
        # An escape hides a part of the token.
        hidden = "\\u%04x" % ord(token[0]) + token[1:]
        body = "".join("event: message\ndata: %s\n\n" % json.dumps(event).replace(token, hidden) for event in events)
        if CALLS and CALLS[-1] == "kind":
            return self.answer(200, "text/" + token, b"")
        self.answer(200, "text/event-stream; charset=utf-8", body.encode())


server = HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
