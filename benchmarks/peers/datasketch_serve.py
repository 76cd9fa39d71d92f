"""datasketch behind the same framework and server: MinHashLSH in memory, which returns candidates unverified.

    python -m benchmarks.peers.datasketch_serve CORPUS

prints its URL when it has the corpus in memory, and answers the requests of `benchmarks.own_load` until it is stopped.
"""

# The peer lives in an environment of its own, where the type checker does not look.
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import socket
import sys

import orjson
import pyarrow.parquet as pq
import uvicorn
from datasketch import MinHash, MinHashLSH
from fastapi import FastAPI, HTTPException, Request, Response
from pydantic import BaseModel

from benchmarks.peers.contest import N_HASHES, THRESHOLD, shingles


class Query(BaseModel):
    """A question."""

    text: str


def sketch(text: str) -> MinHash:
    made = MinHash(num_perm=N_HASHES)
    made.update_batch([token.encode() for token in shingles(text)])
    return made


def application(lsh: MinHashLSH, token: str) -> FastAPI:
    app = FastAPI()

    @app.post("/indexes/{name}/query")
    def query(name: str, asked: Query, request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {token}":
            raise HTTPException(401)
        found = lsh.query(sketch(asked.text))
        return Response(orjson.dumps({"index": name, "answers": found}), media_type="application/json")

    return app


def main() -> None:
    source, token = sys.argv[1:]
    lsh = MinHashLSH(threshold=THRESHOLD, num_perm=N_HASHES)
    table = pq.read_table(source, columns=["id", "text"])
    for id, text in zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True):
        lsh.insert(id, sketch(text), check_duplication=False)
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio then sets TCP_NODELAY
    door.bind(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{door.getsockname()[1]}/", flush=True)
    config = uvicorn.Config(application(lsh, token), http="httptools", log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[door])


if __name__ == "__main__":
    main()
