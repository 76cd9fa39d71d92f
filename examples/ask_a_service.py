"""Start the service of an index, ask it from Python, and stop it. Needs the extra `web`."""

import subprocess
import sys
import tempfile
from pathlib import Path

import twinset

ARTICLES = {
    "harbour": "the city opens the new harbour bridge on sunday at noon and buses cross it free of charge this month",
    "ferry": "the old ferry makes its last trip on saturday evening with a concert of the town band on deck",
}
COPY = ARTICLES["harbour"].replace("noon", "ten")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "news.twinset"
    twinset.Index.create(path, shingle="word:3", threshold=0.5).close()
    command = [sys.executable, "-m", "twinset", "serve", str(path), "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        url = server.stdout.readline().split()[-1]
        with twinset.Client(url, index="news") as client:
            client.add(ARTICLES)
            [found] = client.query(COPY)["answers"]
            print(f"seen before: {found['id']}, similarity {found['similarity']:.2f}")
            shown = client.collapse([ARTICLES["harbour"], COPY, ARTICLES["ferry"]], shingle="word:3", threshold=0.5)
            print("to show:", [f"{one['result'][:20]}… ({one['count']})" for one in shown])
        server.terminate()
