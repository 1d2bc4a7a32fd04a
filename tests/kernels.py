"""Tests compute as runs do: on one thread, with the kernels of all runs. Imported before NumPy."""

from workflow.trace import one_path

one_path.take()  # of this process and of those that tests start
