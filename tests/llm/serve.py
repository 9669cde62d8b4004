"""Serves a model with llama.cpp on a free port of the loopback interface, and prints where, until its stdin ends.

A test that is killed takes the server with it that way.

Usage: serve.py MODEL NAME [CONTEXT]

CONTEXT is how many tokens a request and its reply have, 2048 without it.
"""

import os
import sys

import xllamacpp


def main(model, name, context="2048"):
    options = xllamacpp.CommonParams()
    options.model.path = model
    options.model_alias = {name}
    options.hostnames = ["127.0.0.1"]
    options.port = 0
    options.n_ctx = int(context)
    options.n_parallel = 1
    options.n_gpu_layers = 0
    # A second thread on a busy machine with two cores makes it many times slower.
    options.cpuparams.n_threads = 1
    options.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(options)
    print(server.listening_address, flush=True)
    sys.stdin.buffer.read()
    # Threads of the server would keep the process.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
