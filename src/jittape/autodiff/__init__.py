"""Gradient tapes and forward accumulators."""
