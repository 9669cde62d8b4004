"""Repositories below a folder by https, for those who have the token: prints its port, and notes each host and whether it was sent one."""

import base64
import os
import ssl
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER, CERTIFICATE, KEY, NOTES = sys.argv[1:]
RIGHT = "Basic " + base64.b64encode(b"x-access-token:canary-token").decode()


class Handler(BaseHTTPRequestHandler):
    """Answers as git's own backend does."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):
        pass

    def do_GET(self):
        host, sent = self.headers["Host"].split(":")[0], self.headers["Authorization"]
        with open(NOTES, "a") as notes:
            notes.write(f"{host} {'token' if sent else 'none'}\n")
        path, _, query = self.path.partition("?")
        if path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Content-Length", "0")
            self.send_header("Location", f"https://127.0.0.1:{self.server.server_port}{self.path.removeprefix('/moved')}")
            return self.end_headers()
        if sent != RIGHT:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="repositories"')
            self.send_header("Content-Length", "0")
            return self.end_headers()
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": FOLDER,
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": "x",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers["Content-Type"] or "",
            "HTTP_CONTENT_ENCODING": self.headers["Content-Encoding"] or "",
            "GIT_PROTOCOL": self.headers["Git-Protocol"] or "",
        }
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        made = subprocess.run(["git", "http-backend"], input=body, env=environment, stdout=subprocess.PIPE).stdout
        head, _, content = made.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERTIFICATE, KEY)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
