"""The files of tests that take longest, the longest first: they begin first.

Each file runs in one process; one that begins late keeps it busy when the others have nothing left to do. The list need
not be exact. ``--durations=0`` tells how long each test takes.
"""

LONG_FILES = (
    "house/test_documents_run.py",
    "fuzz/test_readers.py",
    "documents/test_damaged_metadata.py",
    "pairs/audit/test_recall_interval.py",
    "reliability/index/test_index_interrupted.py",
    "reliability/test_memory.py",
    "reliability/index/test_index_killed.py",
    "report/test_browser.py",
    "cli/test_commands.py",
    "reliability/index/test_index_readers.py",
    "compiled/test_compiled.py",
    "sketches/test_conformance.py",
    "reliability/input/test_kinds.py",
    "jobs/test_dedup_index.py",
    "reliability/test_stopped.py",
    "reliability/test_same_bytes.py",
    "test_run_folder.py",
    "house/test_figures.py",
    "reliability/index/test_index_damage.py",
    "reliability/index/test_index_log.py",
    "test_postgres_server.py",
    "system/test_batch_sizes.py",
    "test_pipeline.py",
    "documents/formats/test_bounds.py",
    "reliability/index/test_dedup_index_stopped.py",
    "reliability/index/test_index_hostile.py",
    "cli/index/test_index_refused.py",
    "reliability/index/test_index_no_space.py",
    "reliability/test_sketches.py",
    "reliability/test_no_space.py",
    "test_components.py",
    "reliability/test_resume.py",
)
