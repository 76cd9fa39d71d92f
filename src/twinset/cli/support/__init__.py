"""Shared parts of the commands: flags, lazy imports, running a job, progress and interrupts."""
