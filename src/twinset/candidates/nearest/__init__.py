"""The nearest sets of each set, however far: inverted lists, bitmaps, and bounds on what the rest can add."""
