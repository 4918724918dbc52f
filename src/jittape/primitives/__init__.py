"""The primitives: one frozen record each, followed by the user-level function.

Start with `broadcast`: the few ops that all rules use, and the promotion of operands.
"""
