"""Remote sources and outputs: objects are fetched to local copies, and results are uploaded."""
