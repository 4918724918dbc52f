"""The table of what tapes promise: one row per test of tapes, with its point and its file.

``tests/test_tape.py`` and ``tests/test_tape_values.py`` name each test after the point that it checks:
``test_g4_an_active_tape_is_not_entered_twice``.
"""

import ast
import re
from pathlib import Path

from support_tables import TESTS, TableDirective

FILES = ("test_tape.py", "test_tape_values.py")
NAME = re.compile(r"test_(g\d+)_(?:and_g\d+_)?(\w+)")


def tests_of(path: Path):
    """Yield the point and the promise of each test of a file."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        found = isinstance(node, ast.FunctionDef) and NAME.fullmatch(node.name)
        if found:
            yield found[1].upper(), found[2].replace("_", " ")


def promise_rows():
    """Return the rows of the table: point, promise, file of the test."""
    yield "Point", "Promise", "Test"
    for file in FILES:
        for point, promise in tests_of(TESTS / file):
            yield point, promise[0].upper() + promise[1:], f"``{file}``"


class PromiseTable(TableDirective):
    """The directive ``promise-table``."""

    css_class = "text"

    def rows(self):
        return promise_rows()


def setup(app):
    app.add_directive("promise-table", PromiseTable)
    return {"parallel_read_safe": True}
