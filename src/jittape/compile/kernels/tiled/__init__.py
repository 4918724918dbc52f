"""Tile loops that run several kernels on one block of rows at a time."""
