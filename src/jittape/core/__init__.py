"""Foundations that every other package builds on: the op list, the record of an op, settings, memory."""
