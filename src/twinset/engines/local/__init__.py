"""The engine of one machine: threads, a memory budget, scratch files and resumable stages."""
