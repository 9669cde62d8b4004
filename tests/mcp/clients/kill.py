"""Kills clients of `nrv mcp --yes` in the middle of a change: python kill.py NRV WORKSPACE N"""

import asyncio
import collections
import hashlib
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ENV = {name: value for name, value in os.environ.items() if name != "CI"} | {"NRV_TRUSTED_PATHS": "/"}
CALL = {
    "target": {"glob": "**/*.html"},
    "params": {"from_hosts": ["old.example.com"], "to_host": "https://new.example.com"},
}
PATIENCE = 20


async def call(nrv, pid_file):
    """The client: makes the call, and says so."""
    from mcp import Client, StdioServerParameters

    start = 'echo $$ >"$0"; exec "$@"'
    server = StdioServerParameters(command="sh", args=["-c", start, pid_file, nrv, "mcp", "--yes"], env=ENV)
    async with Client(server, mode="legacy") as client:
        result = await client.call_tool("dta_link_updater_apply", CALL)
        if result.is_error:
            sys.exit(f"the call failed: {result.content}")


def tree(folder):
    """The hash of each file, without the records of runs."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    names = {path.relative_to(folder).as_posix(): path for path in files}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in names.items()
        if not name.startswith(".runs/")
    }


def events(folder):
    """The number of lines in the records of all runs."""
    return sum(path.read_bytes().count(b"\n") for path in folder.glob(".runs/*/events.jsonl"))


def start(nrv, folder, pid_file, stderr):
    command = [sys.executable, os.path.abspath(__file__), "--call", nrv, str(pid_file)]
    return subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr)


def read_to_end(pipe):
    """What a pipe holds until each process that can write to it has ended; none if one goes on for too long."""
    text, end = b"", time.monotonic() + PATIENCE
    while select.select([pipe], [], [], max(0, end - time.monotonic()))[0]:
        part = os.read(pipe, 1 << 16)
        if not part:
            return text
        text += part
    return None


def round_of(nrv, workspace, after, n_events):
    """Kills one client. Returns what the tree was then, and whether `nrv recover` had anything to do."""
    with tempfile.TemporaryDirectory() as base:
        folder, pid_file = Path(base, "site"), Path(base, "pid")
        shutil.copytree(workspace, folder)
        before = tree(folder)
        # The server inherits the pipe: it ends once the client, the server and all that they have started have ended.
        pipe, other_end = os.pipe()
        client = start(nrv, folder, pid_file, other_end)
        os.close(other_end)
        wanted, delay = random.randint(1, n_events), random.choice([0, random.uniform(0, 0.02)])
        end = time.monotonic() + 60
        while events(folder) < wanted and client.poll() is None and time.monotonic() < end:
            time.sleep(0.0002)
        time.sleep(delay)
        was_alive = client.poll() is None
        client.send_signal(signal.SIGKILL)
        client.wait()
        killed = time.monotonic()
        said = read_to_end(pipe)
        os.close(pipe)
        where = f"killed after event {wanted} and {delay * 1000:.1f} ms"
        if said is None:
            os.kill(int(pid_file.read_text()), signal.SIGKILL)
            sys.exit(f"not ok: the server goes on for {PATIENCE} s, {where}")
        took = time.monotonic() - killed
        died = subprocess.run([nrv, "recover", "--check"], cwd=folder, env=ENV, capture_output=True).returncode != 0
        recover = subprocess.run([nrv, "recover"], cwd=folder, env=ENV, capture_output=True, text=True)
        if recover.returncode != 0:
            sys.exit(f"not ok: `nrv recover` fails, {where}: {recover.stderr}")
        now = tree(folder)
        if now not in (before, after):
            sys.exit(f"not ok: the tree is neither as before nor as after, {where}: {said.decode()}")
        return "before" if now == before else "after", was_alive, died, took


def main():
    nrv, workspace, n = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2]).resolve(), int(sys.argv[3])
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base, "site")
        shutil.copytree(workspace, folder)
        code = start(nrv, folder, Path(base, "pid"), None).wait(120)
        after, n_events = tree(folder), events(folder)
        if code != 0 or after == tree(workspace):
            sys.exit("not ok: the undisturbed call changes nothing")
    print(f"ok undisturbed: {n_events} events", flush=True)
    counts, longest = collections.Counter(), 0
    for _ in range(n):
        state, was_alive, died, took = round_of(nrv, workspace, after, n_events)
        counts[state] += 1
        counts["killed"] += was_alive
        counts["died"] += died
        longest = max(longest, took)
    print(f"ok {n} rounds: {counts['before']} before, {counts['after']} after, {n} servers ended by themselves")
    print(f"   {counts['killed']} clients were killed before they had ended, {counts['died']} runs were recovered")
    print(f"   the longest time of a server without its client: {longest:.2f} s")


if sys.argv[1] == "--call":
    asyncio.run(call(sys.argv[2], sys.argv[3]))
else:
    main()
