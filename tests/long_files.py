"""The files of tests that take longest, the longest first: they begin first.

Each file runs in one process; one that begins late keeps it busy when the others have nothing left to do. The list need
not be exact. ``--durations=0`` tells how long each test takes.
"""

LONG_FILES = (
    "house/test_documents_run.py",
    "documents/test_damaged_metadata.py",
)
