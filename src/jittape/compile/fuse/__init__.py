"""Partition of a program into loop nests."""
