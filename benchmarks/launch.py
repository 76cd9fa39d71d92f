"""Run one command and print its wall time, exit code and peak memory as JSON.

A program of its own, with few imports: in a program's peak Linux counts the memory of the process that
started it, so a large harness must not start it directly.
"""

import json
import os
import sys
import time

if __name__ == "__main__":
    report, *command = sys.argv[1:]
    start = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - start
    result = {
        "seconds": seconds,
        "peak": usage.ru_maxrss * 1024,
        "cpu": usage.ru_utime + usage.ru_stime,
        "code": os.waitstatus_to_exitcode(status),
    }
    with open(report, "w", encoding="ascii") as file:
        json.dump(result, file)
