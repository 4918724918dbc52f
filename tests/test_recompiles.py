"""Why programs are recorded and compiled again: `jt.explain_recompiles`, the warning, and counts of traces."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jittape as jt
from processes import run_python

HERE = __file__


@pytest.fixture(autouse=True)
def compiling() -> Iterator[None]:
    before = jt.config.interpret
    jt.config.interpret = False
    yield
    jt.config.interpret = before


def place_of(operation: str) -> Any:
    """The place of this file where programs part at a call of `operation`."""
    places = jt.explain_recompiles().places
    return next(p for p in places if p.operation == operation and p.line is not None and p.line.file == HERE)


def test_a_python_value_that_changes_is_named_and_warned_about_once() -> None:
    x, w = jt.constant(np.linspace(0.0, 1.0, 60)), jt.Variable(1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for rows in (1, 2, 3, 4, 5, 6, 10, 12):
            with jt.GradientTape() as tape:
                loss = jt.reduce_sum(jt.reshape(x * jt.cast(w, jt.float64), (rows, -1)))
            w.assign_sub(0.1 * tape.gradient(loss, w))
        w.numpy()
    (warning,) = [one for one in caught if one.category is jt.RecompileWarning]
    assert warning.filename == HERE
    assert (
        warning.lineno
        == test_a_python_value_that_changes_is_named_and_warned_about_once.__code__.co_firstlineno + 6
    )
    for text in (
        "6 different programs",
        "shape of `reshape` changed from (5, -1) to (6, -1)",
        "explain_recompiles",
    ):
        assert text in str(warning.message)
    place = place_of("`reshape`")
    assert place.programs == 8
    assert (place.kind, place.what, place.old, place.new) == ("value", "shape", "(10, -1)", "(12, -1)")
    assert place.line.line == warning.lineno
    page = str(jt.explain_recompiles())
    assert f"{place.line}: 8 programs" in page
    assert place.remedy in page
    assert "jt.config.compile_after" in page


def test_shapes_dtypes_types_and_branches_are_named() -> None:
    def total(value: Any) -> float:
        return float(jt.reduce_sum(jt.math.softplus(value)))

    total(np.ones(3, np.float32))
    total(np.ones((3, 3), np.float32))
    place = place_of("`softplus`")
    assert (place.kind, place.old, place.new) == ("shape", "float32[3]", "float32[3,3]")
    total(np.ones((3, 3)))
    place = place_of("`softplus`")
    assert (place.kind, place.old, place.new) == ("dtype", "float32[3,3]", "float64[3,3]")
    assert place.programs == 3

    for i in range(3):
        value = jt.ones([5])
        float(jt.reduce_sum(jt.math.expm1(value) if i % 2 else jt.math.log1p(value)))
    place = place_of("`expm1`")
    assert place.kind == "branch"
    assert "`expm1` at line" in place.change
    assert "where `log1p`" in place.change


def test_a_branch_that_makes_new_programs_is_warned_about() -> None:
    x = jt.ones([7])

    def deep(depth: int) -> float:
        value = x
        for _ in range(depth):
            value = jt.math.sinh(value) * 0.5  # deep
        return float(jt.reduce_prod(value))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for depth in (1, 2, 3, 4, 5, 6, 7, 8, 9):
            deep(depth)
    (warning,) = [one for one in caught if one.category is jt.RecompileWarning]
    lines = Path(HERE).read_text(encoding="utf-8").splitlines()
    assert "# deep" in lines[warning.lineno - 1]
    for text in ("6 different programs", "`sinh` at line", "runs where `prod` at line", "jt.cond"):
        assert text in str(warning.message)
    assert place_of("`sinh`").programs >= 8


def test_programs_that_share_a_function_do_not_warn() -> None:
    def scaled(value: Any) -> Any:
        return jt.math.cosh(value) * 0.25

    x = jt.ones([6])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function in (jt.sin, jt.cos, jt.tan, jt.exp, jt.square, jt.abs, jt.tanh, jt.sign):
            float(jt.reduce_sum(function(scaled(x))))


def test_many_lengths_do_not_warn() -> None:
    data, w = np.linspace(0.0, 1.0, 60), jt.Variable(np.float64(1.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(20, 40):
            with jt.GradientTape() as tape:
                loss = jt.reduce_sum(jt.square(data[:n] * w))
            w.assign_sub(0.001 * tape.gradient(loss, w))
        w.numpy()


def test_functions_under_transforms_are_counted() -> None:
    f = jt.function(lambda x: jt.reduce_sum(x * x))
    g = jt.value_and_grad(f)
    for n in (3, 3, 4):
        g(np.ones(n))
    assert f.trace_count == g.trace_count == 2
    assert "traced 2 times, 2 of them as a part of a gradient" in f.explain()
    assert "x changed from float64[3] to float64[4]" in g.explain()
    assert len(g.signatures()) == 2
    assert g.explain() in jt.explain_recompiles().functions
    with pytest.raises(AttributeError, match="only transforms of a jt.function"):
        jt.grad(lambda x: x).explain()


def test_kernels_of_another_environment_are_named(tmp_path: Path) -> None:
    program = (
        "import numpy as np, jittape as jt\n"
        "x = jt.constant(np.arange(5.0))\n"
        "for _ in range(3): float(jt.reduce_sum(jt.exp(x)))\n"
        "print(jt.explain_recompiles())\n"
    )
    run_python("-c", program, JITTAPE_CACHE_DIR=str(tmp_path))
    changed = "from jittape.compile.cache import object_store; object_store.__version__ = '0.0.9'\n" + program
    page = run_python("-c", changed, JITTAPE_CACHE_DIR=str(tmp_path)).stdout
    assert "of the compiled kernels" in page
    assert "on disk for another environment (jittape: '" in page
    assert "' there, '0.0.9' here)" in page
