"""Loops and branches: ops whose parameters hold programs of their own."""
