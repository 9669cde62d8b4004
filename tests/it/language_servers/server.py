"""A language server for tests: `server.py MODE`. It knows the words of `*.ts` files; a line with `// other` means another thing.

In `*.py` files the comment of a line says which thing it means: `# 1`, or `# 1+2` for one of two. `# 1 forgotten` is a place that a
rename leaves, `# 1 partly` one whose value may be of an unknown type, and `# 0` one that it does not know.
"""

import json
import os
import pathlib
import re
import signal
import sys
import time
import urllib.parse

MODE = sys.argv[1]
ROOT = pathlib.Path.cwd()
ENCODING = "utf-8" if MODE == "utf8" else "utf-16"
asked = 0
is_changed = False


def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def receive():
    length = None
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            sys.exit(0)
        if line == b"\r\n":
            return json.loads(sys.stdin.buffer.read(length))
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)


def column(text):
    return len(text.encode()) if ENCODING == "utf-8" else len(text.encode("utf-16-le")) // 2


def offset(line, units):
    return next(at for at in range(len(line) + 1) if column(line[:at]) >= units)


def files():
    return sorted([*ROOT.rglob("*.ts"), *ROOT.rglob("src/*.py")])


def lines(path):
    return path.read_text(encoding="utf-8").split("\n")


def word_at(params):
    path = pathlib.Path(urllib.parse.unquote(params["textDocument"]["uri"].removeprefix("file://")))
    line = lines(path)[params["position"]["line"]]
    at = offset(line, params["position"]["character"])
    return next(found.group() for found in re.finditer(r"\w+", line) if found.start() <= at < found.end()), line


def span(number, line, begin, end):
    return {
        "start": {"line": number, "character": column(line[:begin])},
        "end": {"line": number, "character": column(line[:end])},
    }


def places(word):
    for path in files():
        for number, line in enumerate(lines(path)):
            if "// other" not in line:
                for found in re.finditer(rf"\b{word}\b", line):
                    yield path, span(number, line, *found.span())


def thing(line):
    found = re.search(r"# ([0-9+]+)( \w+)?$", line)
    return (found.group(1), (found.group(2) or "").strip()) if found else ("", "")


def edits(word, new, wanted=""):
    all_edits = {}
    for path, place in places(word):
        number, mark = thing(lines(path)[place["start"]["line"]])
        if number and (wanted not in number.split("+") or mark == "forgotten"):
            continue
        all_edits.setdefault(path.as_uri(), []).append({"range": place, "newText": new})
    return all_edits


def rename(params):
    global asked
    asked += 1
    word, line = word_at(params)
    all_edits = edits(word, params["newName"], thing(line)[0])
    first = next(iter(all_edits))
    if MODE == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if MODE == "hangs":
        time.sleep(600)
    if MODE in ("partial", "nowhere", "http", "itself"):
        all_edits.pop((ROOT / "src" / "[id]" / "use.ts").as_uri())
    if MODE == "growing" and asked <= 3:
        all_edits = {uri: list_[:asked] for uri, list_ in all_edits.items()}
    if MODE == "busy" and asked == 1:
        # The first answer is too small, and no error says so.
        send({"method": "$/progress", "params": {"token": "load", "value": {"kind": "begin", "title": "load"}}})
        all_edits = {first: all_edits[first]}
    if MODE == "annotates":
        all_edits[first][0]["newText"] = f"{word}: {params['newName']}"
    if MODE == "outside":
        all_edits["file:///etc/hosts"] = [{"range": span(0, "x", 0, 1), "newText": "x"}]
    if MODE == "above":
        all_edits[(ROOT.parent / "x.ts").as_uri()] = [{"range": span(0, "x", 0, 1), "newText": "x"}]
    if MODE == "protected":
        all_edits[(ROOT / ".git" / "config").as_uri()] = [{"range": span(0, "x", 0, 1), "newText": "x"}]
    if MODE == "overlap":
        edit = all_edits[first][0]
        all_edits[first].append({"range": {**edit["range"], "end": edit["range"]["start"]}, "newText": "x"})
        all_edits[first].append({**edit, "newText": "y"})
    if MODE == "more":
        all_edits[first][0]["newText"] += "; evil()"
    if MODE == "beyond":
        all_edits[first][0]["range"] = span(10_000, "x", 0, 1)
    if MODE == "backwards":
        place = all_edits[first][0]["range"]
        place["start"], place["end"] = place["end"], place["start"]
    if MODE == "refuses":
        return {"error": {"code": -32803, "message": "You cannot rename this element."}}
    if MODE == "nothing":
        return {"result": None}
    if MODE == "form":
        return {"result": {"changes": 7}}
    if MODE in ("stale", "moves", "versions"):
        version = 1 if MODE == "versions" else 0
        changes = [{"textDocument": {"uri": uri, "version": version if uri.endswith("cart.ts") else None}, "edits": list_}
                   for uri, list_ in all_edits.items()]
        if MODE == "moves":
            changes = [{**change, "textDocument": {**change["textDocument"], "version": None}} for change in changes]
            changes.append({"kind": "delete", "uri": (ROOT / "src" / "[id]" / "use.ts").as_uri()})
        return {"result": {"documentChanges": changes}}
    if MODE == "asks":
        for number, (method, params) in enumerate([
            ("workspace/configuration", {"items": [{"section": "fake.depth"}]}),
            ("workspace/applyEdit", {"edit": {"changes": edits(word, "stolen")}}),
            ("window/workDoneProgress/create", {"token": 1}),
            ("own/method", {}),
        ]):
            send({"id": f"own-{number}", "method": method, "params": params})
            answer = receive()
            assert answer["id"] == f"own-{number}", answer
            expected = [[3], {"applied": False}, None][number] if number < 3 else None
            assert answer.get("result") == expected and ("error" in answer) == (number == 3), answer
    if MODE == "writes":
        (ROOT / "nrv.toml").write_text("lost")
        (ROOT / "src" / "made.txt").write_text("made")
        (ROOT / "src" / "other.ts").chmod(0o600)
    return {"result": {"changes": all_edits}}


def definition(params):
    word, line = word_at(params)
    if MODE == "ignorant":
        return {"result": []}
    if MODE == "nowhere":
        far = {"line": 4_000_000_000, "character": 0}
        return {"result": {"uri": files()[0].as_uri(), "range": {"start": far, "end": far}}}
    if MODE == "http":
        start = params["position"]
        return {"result": {"uri": "http://example.com/x.ts", "range": {"start": start, "end": start}}}
    if "// other" in line or MODE == "itself":
        uri, start = params["textDocument"]["uri"], params["position"]
        if "// other" in line:
            # The first line of the file declares the other thing.
            start = {"line": 0, "character": column("export const o = { ")}
        return {"result": {"uri": uri, "range": {"start": start, "end": start}}}
    if number := thing(line)[0]:
        found = [(path, place, thing(lines(path)[place["start"]["line"]])[0]) for path, place in places(word)]
        firsts = [next((one for one in found if one[2] == part), None) for part in number.split("+")]
        return {"result": [{"uri": one[0].as_uri(), "range": one[1]} for one in firsts if one and number != "0"]}
    known = next((found for found in places(word) if found[0].name == "cart.ts"), None)
    if known is None:
        return {"result": []}
    path, place = known
    return {"result": {"uri": path.as_uri(), "range": place}}


def hover(params):
    _, line = word_at(params)
    shown = "Unknown | (bound method A.total() -> int)" if thing(line)[1] == "partly" else "bound method A.total() -> int"
    return {"result": {"contents": {"kind": "plaintext", "value": shown}}}


def diagnostic(params):
    place = span(2, "x", 0, 1)
    is_far = params["textDocument"]["uri"].endswith("far.ts")
    is_wrong = MODE == "wrong" or is_changed and (MODE == "breaks" or MODE == "far" and is_far)
    items = [{"range": place, "code": 2741, "severity": 1, "message": "it lacks a member"}] if is_wrong else []
    warning = {"range": place, "code": 6133, "severity": 2, "message": "not used"}
    return {"result": {"kind": "full", "items": [*items, warning] if is_changed else items}}


while True:
    message = receive()
    method, params = message.get("method"), message.get("params")
    if method == "initialize":
        if MODE == "dies":
            print("no licence for this machine", file=sys.stderr)
            sys.exit(3)
        if MODE == "garbage":
            print("hello " * 2000, flush=True)
        if MODE == "floods":
            while True:
                send({"method": "window/logMessage", "params": {"type": 4, "message": "x" * 1000}})
        capabilities = {"positionEncoding": ENCODING}
        if MODE != "silent":
            capabilities["diagnosticProvider"] = {"interFileDependencies": True, "workspaceDiagnostics": False}
        answer = {"result": {"capabilities": capabilities, "serverInfo": {"name": "fake", "version": "1.2"}}}
    elif method == "textDocument/rename":
        answer = rename(params)
    elif method == "textDocument/definition":
        answer = definition(params)
    elif method == "textDocument/hover":
        answer = hover(params)
    elif method == "textDocument/diagnostic":
        answer = diagnostic(params)
    elif method == "textDocument/didChange":
        is_changed = True
        continue
    elif method == "shutdown" and MODE == "stays":
        continue
    elif method == "exit":
        sys.exit(0)
    else:
        answer = {"result": None}
    if "id" in message and method:
        send({"id": message["id"], **answer})
    if MODE == "busy" and method == "textDocument/rename" and asked == 1:
        time.sleep(0.5)
        send({"method": "$/progress", "params": {"token": "load", "value": {"kind": "end"}}})
