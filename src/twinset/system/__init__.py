"""What the machine offers: scratch files, atomic files, locks, memory and digests."""
