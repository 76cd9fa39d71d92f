"""What two items share, and where they differ."""
