"""A server of the official Python SDK, whose tools nrv uses in tests: python server.py [PORT]"""

import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("peer", version="1")


class Sum(BaseModel):
    """A sum."""

    sum: int


class Name(BaseModel):
    """A name."""

    name: str


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> Sum:
    """Adds two numbers."""
    return Sum(sum=a + b)


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("it was to fail")


@server.tool()
async def ask(ctx: Context) -> str:
    """Asks for a name."""
    answer = await ctx.elicit("Who are you?", Name)
    return f"the answer is {answer.action}"


@server.tool()
async def work(ctx: Context) -> str:
    """Tells how far it is."""
    for done in range(3):
        await ctx.report_progress(done, 3)
        await ctx.info(f"{done} done")
    return "worked"


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run()
