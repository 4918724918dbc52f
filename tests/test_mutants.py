"""The mutations of `mutants.py` still apply to the code, and the documentation names them all."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from mutants import PROJECT, mutated
from mutations import Mutation
from mutations_of_passes import PASSES
from mutations_of_rules import RULES

ALL = (*RULES, *PASSES)
PAGE = PROJECT / "docs" / "reliability.rst"


@pytest.mark.parametrize("mutation", ALL, ids=[m.name for m in ALL])
def test_a_mutation_changes_code_that_is_there(mutation: Mutation):
    before = (PROJECT / "src" / "jittape" / mutation.file).read_text(encoding="utf-8")
    assert ast.dump(ast.parse(mutated(mutation))) != ast.dump(ast.parse(before))


@pytest.mark.parametrize("mutation", ALL, ids=[m.name for m in ALL])
def test_the_tests_of_a_mutation_are_there(mutation: Mutation):
    files = [word for word in mutation.tests.split() if word.startswith("tests/")]
    assert files
    assert all((PROJECT / file).is_file() for file in files)


def test_old_code_that_is_not_there_is_refused(tmp_path: Path):
    file = tmp_path / "src" / "jittape" / "a.py"
    file.parent.mkdir(parents=True)
    file.write_text("x = 1\nx = 1\n")
    for old in ("x = 1", "x = 2"):
        with pytest.raises(ValueError, match="bring the mutation up to date"):
            mutated(Mutation("a", "a.py", old, "", "", ""), tmp_path)


def test_the_page_names_tests_that_are_there():
    named = set(re.findall(r"``((?:fuzz/)?test_\w+\.py)", PAGE.read_text(encoding="utf-8")))
    assert named
    assert [name for name in sorted(named) if not (PROJECT / "tests" / name).is_file()] == []


def test_the_page_counts_the_mutations():
    counts = f"detect {len(RULES)} of {len(RULES)} faults in rules and {len(PASSES)} of {len(PASSES)} faults in passes"
    assert counts in PAGE.read_text(encoding="utf-8")


def test_names_are_unique_and_on_the_page():
    names = [m.name for m in ALL]
    assert len(set(names)) == len(names)
    text = PAGE.read_text(encoding="utf-8")
    assert [m.name for m in ALL if f"* - {m.name}\n     - {m.fault}\n" not in text] == []
