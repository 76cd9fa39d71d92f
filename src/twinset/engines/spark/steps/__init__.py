"""The steps of a run as data frames. What runs inside a task is in `tasks/`."""
