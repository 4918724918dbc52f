"""Tensors of integers that a shape determines."""
