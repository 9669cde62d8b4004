"""Drives `nrv mcp` with the official Python SDK: python client.py NRV WORKSPACE stdio|http [--era old|new]"""

import argparse
import asyncio
import contextlib
import hashlib
import os
import re
import secrets
import subprocess
import sys
import warnings
from pathlib import Path

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

# The SDK warns that a ping belongs to the old protocol.
warnings.simplefilter("ignore")

parser = argparse.ArgumentParser()
parser.add_argument("nrv", type=Path)
parser.add_argument("workspace", type=Path)
parser.add_argument("transport", choices=["stdio", "http"])
parser.add_argument("--era", choices=["old", "new"], default="old")
flags = parser.parse_args()
nrv, workspace, is_new = str(flags.nrv.resolve()), flags.workspace.resolve(), flags.era == "new"
env = {name: value for name, value in os.environ.items() if name != "CI"} | {"NRV_TRUSTED_PATHS": "/"}

step = "start"
asked = []
answer = ElicitResult(action="accept", content={"approve": True})
told = []


def tree():
    """The hash of each file, without the records of runs."""
    files = [path for path in workspace.rglob("*") if path.is_file()]
    names = {path.relative_to(workspace).as_posix(): path for path in files}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in names.items()
        if not name.startswith(".runs/")
    }


def changed(before, after):
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


@contextlib.contextmanager
def check(name):
    global step
    step = name
    yield
    print(f"ok {name}", flush=True)


def expect(holds, what):
    if not holds:
        raise AssertionError(what)


def good(result):
    expect(not result.is_error, result.content)
    return result.structured_content


async def on_question(_context, params):
    asked.append(params)
    return answer


@contextlib.asynccontextmanager
async def serving():
    """The transport to a server, which is stopped at the end if this script has started it."""
    if flags.transport == "stdio":
        yield StdioServerParameters(command=nrv, args=["mcp"], cwd=workspace, env=env)
        return
    token = secrets.token_hex(32)
    server = subprocess.Popen(
        [nrv, "mcp", "--http", "127.0.0.1:0"],
        cwd=workspace,
        env=env | {"NRV_MCP_TOKEN": token},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        lines = iter(server.stderr.readline, "")
        url = next((found[1] for line in lines if (found := re.search(r"Serving (http:\S+)", line))), None)
        expect(url, "the server has not said where it serves")
        expect(httpx2.post(url, json={}).status_code == 401, "a request without the token is refused")
        async with httpx2.AsyncClient(timeout=60, headers={"Authorization": f"Bearer {token}"}) as client:
            yield streamable_http_client(url, http_client=client)
        server.terminate()
        expect(server.wait(20) == 0, "the server ends well")
    finally:
        server.kill()
        server.wait()


async def drive():
    start = tree()
    async with contextlib.AsyncExitStack() as stack:
        mode = "auto" if is_new else "legacy"
        with check("connect"):
            server = await stack.enter_async_context(serving())
            client = Client(server, mode=mode, elicitation_callback=on_question, read_timeout_seconds=60)
            await stack.enter_async_context(client)
        await steps(client, start)
        with check("close"):
            await stack.aclose()
            recover = subprocess.run([nrv, "recover", "--check"], cwd=workspace, env=env, capture_output=True, text=True)
            expect(recover.returncode == 0, f"each run has ended: {recover.stderr}")


async def steps(client, start):
    global answer

    async def call(name, arguments):
        steps = []
        told.append((name, steps))

        async def on_progress(progress, _total, _message):
            steps.append(progress)

        return await client.call_tool(name, arguments, progress_callback=on_progress)

    print(f"protocol {client.protocol_version}")
    expect((client.protocol_version >= "2026-07-28") == is_new, "the protocol is of the era")
    if not is_new:
        with check("ping"):
            await client.send_ping()
    with check("tools"):
        tools = (await client.list_tools()).tools
        expect(len(tools) > 10, f"{len(tools)} tools")
        for tool in tools:
            expect(tool.input_schema.get("type") == "object", f"{tool.name}: input schema")
            expect((tool.output_schema or {}).get("type") == "object", f"{tool.name}: output schema")
            expect(tool.annotations and tool.annotations.read_only_hint is not None, f"{tool.name}: annotations")

    # Over HTTP a call without a run is a run of its own, which forgets its proposals.
    run = {}
    if flags.transport == "http":
        with check("run_open"):
            run = {"run": good(await call("run_open", {}))["run"]}
    with check("propose"):
        params = {"from_hosts": ["old.example.com"], "to_host": "https://new.example.com"}
        result = await call("dta_link_updater_propose", {"target": {"glob": "**/*.html"}, "params": params} | run)
        said = good(result)
        proposal = said["result"]
        paths = sorted(file["path"] for file in proposal["files"])
        expect(len(paths) > 1, "the proposal has files")
        links = [str(block.uri) for block in result.content if block.type == "resource_link"]
        expect(links and links[0].startswith(f"nrv://run/{said['run']}/"), "the answer links the diff")
        expect(tree() == start, "a proposal changes nothing")
    with check("diff"):
        diff = (await client.read_resource(links[0])).contents[0].text
        expect(re.search(r"^\+.*new\.example\.com", diff, re.MULTILINE), "the diff shows the new host")
    with check("apply"):
        said = good(await call("dta_link_updater_apply", {"proposal": proposal["id"]} | run))
        expect(len(asked) == 1, f"the handler was called once, not {len(asked)} times")
        expect(re.search(rf"\b{len(paths)} files\b", asked[0].message), "the question names the number of files")
        expect(said["result"]["verifier"]["passed"] is True, "the change is verified")
    after = tree()
    with check("changed"):
        expect(changed(start, after) == paths, "the files of the proposal have changed, no others")
    with check("decline"):
        answer = ElicitResult(action="decline")
        result = await call("apply_create", {"path": "declined.txt", "text": "no\n"})
        expect(len(asked) == 2, "the handler was called again")
        expect(result.is_error, "a declined call is an error")
        expect(tree() == after, "a declined call changes nothing")
    with check("rollback"):
        answer = ElicitResult(action="accept", content={"approve": True})
        good(await call("rollback", {"run": said["run"]}))
        expect(changed(start, tree()) == [], "the tree is as at the start")
    with check("progress"):
        expect(any(steps for _, steps in told), "no progress was told")
        # In the new protocol a call that is made again counts anew.
        stays = [] if is_new else [call for call in told if any(b <= a for a, b in zip(call[1], call[1][1:]))]
        expect(not stays, f"the progress of a call increases: {stays}")


def reason(error):
    """The first error of a group, on one line."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return " ".join(f"{type(error).__name__}: {error}".split())


try:
    asyncio.run(asyncio.wait_for(drive(), 120))
except Exception as error:
    print(f"not ok {step}: {reason(error)}")
    sys.exit(1)
