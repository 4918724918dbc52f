"""The workloads of `peers.py`, one row of its table each."""
