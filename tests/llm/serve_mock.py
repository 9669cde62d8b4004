"""Runs llmock on a free port of the loopback interface, and prints where, until its stdin ends.

What is to go wrong is posted to it.
"""

import os
import sys

from llmock.testing import LLMockServer

if __name__ == "__main__":
    server = LLMockServer().start()
    print(server.url, flush=True)
    sys.stdin.buffer.read()
    os._exit(0)
