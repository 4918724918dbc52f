"""Docstrings open with an imperative or a noun phrase, not with the rest of a question."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import jittape

ROOT = Path(jittape.__file__).parent
BAD_OPENING = re.compile(r"(What|Who|Where|Of|Into|So|None if|None is) ")


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and first line of each docstring, those of constants and attributes included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            text = node.value.value
            if isinstance(text, str) and text.strip():
                yield node.lineno, text.strip().splitlines()[0]


def badly_opened(source: str) -> list[tuple[int, str]]:
    return [(line, text) for line, text in docstrings(source) if BAD_OPENING.match(text)]


FOLDERS = sorted({path.parent.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py")})


@pytest.mark.parametrize("folder", FOLDERS)
def test_docstrings_open_with_an_imperative_or_a_noun_phrase(folder):
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in sorted((ROOT / folder).glob("*.py"))
        for line, text in badly_opened(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(["open with an imperative or a noun phrase:", *found])


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('"""What a module does."""', [1]),
        ('def f():\n    """Into so many blocks."""', [2]),
        ('class A:\n    """Number of rows."""\n\n    n: int\n    """None if unknown."""', [5]),
        ('LIMIT = 3\n"""\nSo many rows.\n"""', [2]),
        ('def f():\n    """Return what `g` needs."""', []),
        ('def f():\n    """Whether `x` is sorted."""', []),
        ('def f():\n    """Offsets of rows."""', []),
        ('x = "What is this?"', []),
    ],
)
def test_a_bad_opening_is_found(source, lines):
    assert [line for line, _ in badly_opened(source)] == lines
