"""The steps of a run on one machine, one file each."""
