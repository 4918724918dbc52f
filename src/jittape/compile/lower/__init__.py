"""Lowering of a group of ops to a canonical loop kernel."""
