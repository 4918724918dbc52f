"""Isotonic regression."""
