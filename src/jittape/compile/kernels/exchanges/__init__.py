"""Exchanges of elements one after another."""
