"""Engines, which carry out the steps of a run; `local` uses one machine with threads."""
