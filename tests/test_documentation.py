"""What the documentation says is so: its examples run as they stand there, and no public name is left out."""

import doctest
import re
from collections import defaultdict
from enum import EnumType
from pathlib import Path
from types import FunctionType, ModuleType

import numpy as np
import pytest

import jittape as jt
import test_imports
import test_primitives

ROOT = Path(__file__).parent.parent
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

LISTED = set(re.findall(r"^   (\S+)$", (ROOT / "docs" / "api.rst").read_text(encoding="utf-8"), re.MULTILINE))


def run_examples(name, namespace=None):
    """Run every Python block of a file in one namespace, which is returned."""
    blocks = EXAMPLE.findall((ROOT / name).read_text(encoding="utf-8"))
    assert blocks, f"{name} has no example any more"
    namespace = {} if namespace is None else namespace
    namespace["__name__"] = "__main__"
    for block in blocks:
        exec(compile(block, name, "exec"), namespace)
    return namespace


def test_readme(capsys):
    run_examples("README.md")
    assert capsys.readouterr().out == "y = 3.00 x + 2.00\n"


def test_the_record_of_contributing_is_a_module_of_the_package(monkeypatch):
    text = EXAMPLE.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))[0]
    for imported in test_imports.imported_names(text, "CONTRIBUTING.md"):
        assert test_imports.POSITION[imported] < test_imports.POSITION["primitives.nn.activation"], imported
    module = ModuleType("jittape.primitives.contributed")
    exec(compile(text, "CONTRIBUTING.md", "exec"), vars(module))
    monkeypatch.setattr(jt.math, "logcosh", module.logcosh, raising=False)
    examples = doctest.DocTestFinder().find(module.logcosh, globs={"jt": jt})
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert [runner.run(example) for example in examples] == [doctest.TestResults(0, 1)]


def test_the_op_of_contributing_passes_the_tests_of_every_op(capsys, monkeypatch):
    monkeypatch.setattr(jt.math, "logcosh", lambda x: namespace["logcosh"](x), raising=False)
    namespace = {}
    row = run_examples("CONTRIBUTING.md", namespace)["row"]
    assert "logcosh" in capsys.readouterr().out
    operands = row.sample(np.random.default_rng(0))
    for dtype in row.dtypes:
        for edge in (operands, *row.edges):
            test_primitives.assert_value(row, edge, dtype)
            test_primitives.assert_compiled(row, edge, dtype)
    test_primitives.test_gradient_against_differences(row)


def public_names():
    """Every class and function that a user can reach, with the dotted names it goes by."""
    names = defaultdict(set)
    modules = (
        jt,
        jt.autodiff,
        jt.bitwise,
        jt.debugging,
        jt.linalg,
        jt.math,
        jt.nn,
        jt.optimizers,
        jt.optimizers.schedules,
        jt.random,
        jt.test,
    )
    for module in modules:
        prefix = module.__name__.partition(".")[2]
        for name in getattr(module, "__all__", vars(module)):
            value = getattr(module, name)
            if not name.startswith("_") and value.__class__ in (type, EnumType, FunctionType):
                names[value].add(f"{prefix}.{name}".lstrip("."))
    return names.items()


@pytest.mark.parametrize("names", [names for value, names in public_names()], ids=min)
def test_the_reference_lists(names):
    assert names & LISTED, f"add one of {sorted(names)} to docs/api.rst"
