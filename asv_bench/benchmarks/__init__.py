"""Benchmarks of jittape, run by asv.

`recording` is what an op costs in Python, `steps` whole training steps, `startup` what a process pays once.
"""
