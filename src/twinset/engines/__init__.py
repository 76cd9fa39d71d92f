"""Where the steps run: here, one machine with threads, a memory budget and state to go on from."""
