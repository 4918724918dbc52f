"""A fault that the test suite must notice: code broken on purpose, for `mutants.py`."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Mutation"]


class Mutation(NamedTuple):
    """A change of one place in the package.

    Attributes
    ----------
    name : str
    file : str
        The changed file, relative to ``src/jittape``.
    old, new : str
        The text that must stand there exactly once, and the text that takes its place.
    fault : str
        The mistake, for the table in the documentation.
    tests : str
        Arguments of pytest: the tests that must notice it.
    """

    name: str
    file: str
    old: str
    new: str
    fault: str
    tests: str
