"""Ops that create tensors, change shapes and move elements."""
