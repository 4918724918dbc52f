"""Counts and places of the true elements of masks."""
