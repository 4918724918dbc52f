"""The primitives: one frozen record each, with the user-level function directly below it.

`broadcast` comes first: the few ops that every rule leans on, and the promotion of operands. The other modules import
it and not one another in circles.
"""
