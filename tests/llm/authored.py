"""Records replies that a person wrote as cassettes of a shipped script, over the wire.

    python3 tests/llm/authored.py NRV SCRIPT [TEXT...]

serves replies as a server does that speaks OpenAI's chat completions and streams: the files TEXT in their order, or without any the
texts of the present cassettes, each to the request that is most like its own. SCRIPT is run by NRV in a copy of this repository whose
policy has that server as its only provider, with `--record-llm`. What was recorded is labelled `authored` and put beside the script in
place of what was there. So after a change of prompts no TEXT is needed, and another reply is written into its cassette first.
Nothing but Python's standard library is needed.
"""

import difflib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODEL = "authored"
PIECE = 40
ROOT = pathlib.Path(__file__).resolve().parents[2]


def folder_of(script):
    """Where the cassettes of a script are."""
    return (ROOT / script).with_suffix(".llm")


def present(script):
    """The cassettes of a script: what was asked, and the reply."""
    read = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder_of(script).glob("*.json")))
    return [(said(cassette["request"]), cassette["reply"]["text"]) for cassette in read]


def said(request):
    """What a request says, in a cassette or on the wire."""
    return "\n".join(message["content"] for message in request["messages"])


class Server(ThreadingHTTPServer):
    """Gives out texts, one a request."""

    daemon_threads = True

    def __init__(self, replies):
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies = list(replies)

    def reply(self, asked):
        """The next text, or that of the request that is most like this one."""
        likeness = [difflib.SequenceMatcher(None, known or "", asked, autojunk=False).ratio() for known, _ in self.replies]
        return self.replies.pop(likeness.index(max(likeness)))[1]


class Handler(BaseHTTPRequestHandler):
    """OpenAI's chat completions, as far as nrv speaks them."""

    def log_message(self, *_):
        pass

    def send(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        known = self.path == "/v1/models"
        body = {"object": "list", "data": [{"id": MODEL, "object": "model"}]} if known else {}
        self.send(200 if known else 404, "application/json", json.dumps(body).encode())

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        asked = json.loads(self.rfile.read(length))
        if self.path != "/v1/chat/completions" or not self.server.replies:
            error = {"error": {"message": "there is no reply left", "type": "invalid_request_error"}}
            self.send(404, "application/json", json.dumps(error).encode())
            return
        text = self.server.reply(said(asked))
        usage = {"prompt_tokens": len(said(asked)) // 4, "completion_tokens": len(text) // 4}
        pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
        deltas = [{"role": "assistant", "content": ""}] + [{"content": piece} for piece in pieces] + [{}]
        chunks = []
        for at, delta in enumerate(deltas):
            finish = "stop" if at == len(deltas) - 1 else None
            chunks.append({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
        chunks.append({"choices": [], "usage": usage})
        for chunk in chunks:
            chunk |= {"id": "authored", "object": "chat.completion.chunk", "created": 0, "model": MODEL}
        lines = [json.dumps(chunk) for chunk in chunks] + ["[DONE]"]
        self.send(200, "text/event-stream", "".join(f"data: {line}\n\n" for line in lines).encode())


def copy(folder):
    """The repository's files as they are now, in a repository of their own."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True
    )
    for name in sorted(set(listed.stdout.decode().split("\0")) - {""}):
        if (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)


def install(work, script):
    """Installs the packages of the npm projects that the script names."""
    text = (work / script).read_text(encoding="utf-8")
    for lock in sorted(work.glob("examples/*/package-lock.json")):
        if str(lock.parent.relative_to(work)) in text:
            subprocess.run(["npm", "ci", "--silent"], cwd=lock.parent, check=True)


def record(nrv, script, replies):
    """Runs the script on these replies and keeps what it recorded."""
    server = Server(replies)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        work, recorded = pathlib.Path(folder, "nrv"), pathlib.Path(folder, "recorded")
        copy(work)
        with open(work / "nrv.toml", "a", encoding="utf-8") as policy:
            policy.write(f'\n[llm.providers.{MODEL}]\ndialect = "openai_chat"\nmodel = "{MODEL}"\n')
            policy.write(f'base_url = "http://127.0.0.1:{server.server_port}/v1"\n')
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "copy"]):
            subprocess.run(git + words, cwd=work, check=True)
        install(work, script)
        environment = {**os.environ, "NRV_TRUSTED_PATHS": str(work)}
        ran = subprocess.run([nrv, "run", script, "--yes", "--record-llm", str(recorded)], cwd=work, check=False, env=environment)
        if ran.returncode or server.replies:
            sys.exit(f"the run ended with {ran.returncode}, and {len(server.replies)} replies are left")
        beside = folder_of(script)
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir()
        for path in sorted(recorded.glob("*.json")):
            cassette = json.loads(path.read_text(encoding="utf-8")) | {"label": MODEL}
            text = json.dumps(cassette, indent=2, sort_keys=True, ensure_ascii=False)
            (beside / path.name).write_text(text + "\n", encoding="utf-8")
            print(beside / path.name)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    texts = [(None, pathlib.Path(path).read_text(encoding="utf-8")) for path in sys.argv[3:]]
    record(str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2], texts or present(sys.argv[2]))
