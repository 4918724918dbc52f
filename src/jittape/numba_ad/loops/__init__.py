"""Analyses of loops: the order of their iterations, and what iterations share."""
