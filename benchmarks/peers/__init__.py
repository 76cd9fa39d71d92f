"""One program a peer, each run by the interpreter of its own virtual environment."""
