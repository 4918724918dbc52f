"""Caches of machine code and schedules, in memory and on disk."""
