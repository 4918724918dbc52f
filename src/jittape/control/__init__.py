"""Loops and branches: ops whose parameters contain programs."""
