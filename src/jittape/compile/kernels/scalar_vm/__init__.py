"""Bytecode for long programs on single numbers, and its interpreter."""
