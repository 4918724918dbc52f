"""Scatter of diagonals into zeros."""
