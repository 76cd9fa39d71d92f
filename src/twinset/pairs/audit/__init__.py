"""Compare sampled documents with all others, exactly."""
