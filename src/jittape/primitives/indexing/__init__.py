"""Indexing, gather and scatter, and sorting."""
