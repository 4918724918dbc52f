"""Tridiagonal systems of equations."""
