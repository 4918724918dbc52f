"""Where to look: `jt.explain()` on the last step, `jt.stats()` on all of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jittape as jt
from host_schedules import schedule
from jittape.compile.schedule import pipeline
from jittape.compile.schedule.pipeline import PASSES, SIMPLIFICATIONS
from jittape.core.primitive import Primitive, apply
from jittape.errors import ProgramError
from jittape.primitives.linalg.matmul import matmul_op
from jittape.recording.trace import begin_step
from processes import run_python
from programs import program_of

HERE = Path(__file__).name


@pytest.fixture(autouse=True)
def compiling() -> Iterator[None]:
    before = jt.config.interpret
    jt.config.interpret = False
    yield
    jt.config.interpret = before


def line_here(offset: int = 0) -> str:
    """This file and the caller's line, as an explanation says it.

    No frame is kept: one that refers to itself lives until the garbage is collected, and all that its caller holds too.
    """
    return f"{HERE}:{sys._getframe(1).f_lineno + offset}"


def explained(step: Callable[[], Any], visits: int = 2) -> jt.Explanation:
    """What is said of `step` after so many visits; every result that it returns is looked at."""
    begin_step()  # a tape that another test has kept may still hold the trace
    for _ in range(visits):
        results = step()
        for result in results if isinstance(results, tuple) else (results,):
            result.numpy()
    return jt.explain()


# ---- a first visit ---------------------------------------------------------------------------------------------------


def test_the_first_visit_is_interpreted_and_says_so():
    x = jt.constant(np.linspace(0, 1, 7))

    page = explained(lambda: jt.reduce_sum(jt.sin(jt.exp(x))), visits=1)
    line = line_here(-1)
    assert (page.compiled, page.visits, page.steps) == (False, 1, ())
    assert [op.primitive.name for op in page.program.ops] == ["exp", "sin", "sum"]
    text = str(page).splitlines()
    assert text[0].startswith("last step: interpreted with NumPy; it is compiled when")
    assert text[0].endswith("run 1 of this path")
    assert text[1] == "program: 3 ops, 1 input, 1 output"
    assert text[3] == "program(%0: float64[7])"
    assert all(line in op_line for op_line in text[4:7])
    assert text[-1] == "  return %3"


def test_what_is_interpreted_by_choice_is_said_to_be():
    x = jt.constant([1.0, 2.0])

    def step() -> Any:
        return jt.cos(jt.sin(x))

    assert explained(step).compiled
    jt.config.interpret = True
    page = explained(step, visits=1)
    assert (page.compiled, page.visits, page.steps) == (False, 3, ())
    assert str(page).splitlines()[0] == (
        "last step: interpreted with NumPy, as jt.config.interpret is set; run 3 of this path"
    )
    jt.config.interpret = False
    assert explained(step, visits=1).compiled


def test_nothing_has_run_yet():
    code = "import jittape as jt\ntry:\n    jt.explain()\nexcept RuntimeError as error:\n    print(error)"
    done = run_python("-c", code)
    assert done.returncode == 0
    assert done.stdout == "nothing has run yet: look at a value first, for example with numpy()\n"


# ---- the passes of the compiler --------------------------------------------------------------------------------------


def names_of_passes(page: jt.Explanation) -> list[str]:
    return [stage.name for stage in page.passes]


def test_passes_that_changed_something_are_shown_in_order():
    x, w = jt.constant(np.ones((100, 3))), jt.constant(np.ones((3, 5)))
    explained(lambda: jt.reduce_sum(-(x @ w), axis=0) + 0.0 * jt.reduce_sum(x))
    page = jt.explain(passes=True)
    assert jt.explain().passes == ()
    order = ["recorded", *[f.__name__.replace("_", " ") for f in SIMPLIFICATIONS], *[p.name for p in PASSES]]
    places = [order.index(name) for name in names_of_passes(page)]
    assert places == sorted(places)
    assert places[0] == 0
    assert {"sum before product", "lower to steps", "plan memory"} <= set(names_of_passes(page))
    texts = {stage.name: stage.text for stage in page.passes}
    assert "[100,5]" in texts["recorded"]
    assert "[100,5]" not in texts["sum before product"]
    assert texts["plan memory"].splitlines()[-1].startswith("arena of ")
    assert "\n\nafter sum before product:\n    program(" in str(page)
    assert "as recorded:" in str(page)
    assert str(jt.explain()) in str(page).replace(
        "\n\n".join(str(stage) for stage in page.passes) + "\n\n", ""
    )


def test_passes_of_an_interpreted_program_are_shown():
    x = jt.constant(np.linspace(0, 1, 7))
    explained(lambda: jt.reduce_sum(jt.tanh(jt.exp(x))), visits=1)
    page = jt.explain(passes=True)
    assert not page.compiled
    assert names_of_passes(page)[0] == "recorded"
    assert names_of_passes(page)[-1] == "plan memory"


def test_the_rule_that_decided_is_shown():
    w, x, g = (
        jt.Variable(np.ones((160, 120))),
        jt.constant(np.ones((40, 160))),
        jt.constant(np.ones((40, 120))),
    )

    def step(use: Callable[[Any], Any]) -> list[str]:
        def update() -> Any:
            gradient = jt.transpose(x) @ g
            w.assign_sub(0.25 * gradient)
            return use(gradient)

        explained(update, visits=3)
        return [stage.text for stage in jt.explain(passes=True).passes if stage.name == "accumulate in GEMM"]

    (needed,) = step(lambda gradient: gradient)
    assert "; broken rule: the gradient is no output" in needed
    (alone,) = step(lambda gradient: jt.constant(1.0) + 1.0)
    assert "broken rule" not in alone


def test_a_broken_pass_is_found_by_name_of_its_check(monkeypatch):
    """In tests, the check of every pass runs after it."""
    assert pipeline.verify_each_pass

    def backwards(draft: Any) -> None:
        draft.steps.reverse()

    broken = [p._replace(run=backwards) if p.name == "release stacks" else p for p in PASSES]
    monkeypatch.setattr(pipeline, "PASSES", tuple(broken))
    program = program_of(lambda x: matmul_op.bind(x, matmul_op.bind(x, x)), np.ones((50, 50)))
    with pytest.raises(ProgramError, match="before it is written"):
        schedule(program)


# ---- a compiled step -------------------------------------------------------------------------------------------------


def test_a_compiled_step():
    x = jt.constant(np.linspace(0, 1, 1000))
    page = explained(lambda: jt.reduce_sum(jt.square(jt.sin(x))), visits=3)
    line = line_here(-1)
    assert (page.compiled, page.visits) == (True, 3)
    (step,) = page.steps
    assert [op.primitive.name for op in step.ops] == ["sin", "square", "sum"]
    assert step.loops == 1
    assert (step.bytes_read, step.bytes_written, step.operations) == (8000, 8, 3000)
    text = str(page).splitlines()
    assert text[0] == "last step: compiled; 1 step; run 3 of this path"
    assert text[1] == "program: 3 ops, 1 input, 1 output"
    assert re.fullmatch(
        r"1\. kernel k\w+: 1 loop, (found|compiled for this program); reads 8 kB, writes 8 B, 3,000 operations",
        text[3],
    )
    assert text[4] == f"  {line}  sin, square, sum"
    assert text[6].strip() == step.listing.splitlines()[0]
    assert step.title in text[3]


def test_every_line_of_the_user_is_named_once():
    x = jt.constant(np.linspace(0, 1, 10))

    def step() -> Any:
        y = jt.exp(x) * x
        y = jt.tanh(y)
        return jt.reduce_sum(y * y)

    first = int(line_here(-4).split(":")[1])
    page = explained(step)
    found = re.findall(rf"{HERE}:(\d+)  ([\w, ]+)", str(page))
    assert found == [
        (str(first), "exp, multiply"),
        (str(first + 1), "tanh"),
        (str(first + 2), "multiply, sum"),
    ]


def test_the_ops_of_a_gradient_stand_at_the_line_that_they_come_from():
    x = jt.Variable(np.linspace(0, 1, 10))
    lines = []

    def step() -> Any:
        with jt.GradientTape() as tape:
            y = jt.reduce_sum(jt.sin(x))
            lines.append(line_here(-1))
        return tape.gradient(y, x)

    page = explained(step)
    assert f"{lines[0]}  " in str(page)
    assert "cos" in next(line for line in str(page).splitlines() if lines[0] in line)


def test_a_page_prints_as_it_is_represented():
    page = explained(lambda: jt.sin(jt.constant(1.0)))
    assert repr(page) == str(page)


def test_a_page_stays_as_it_was():
    page = explained(lambda: jt.sin(jt.constant(1.0)))
    before = str(page)
    explained(lambda: jt.cos(jt.constant([1.0])), visits=1)
    assert str(page) == before
    assert str(jt.explain()) != before


# ---- one kernel, one loop --------------------------------------------------------------------------------------------

ELEMENTWISE: dict[str, Callable[[Any], Any]] = {
    "exp": jt.exp,
    "sin": jt.sin,
    "square": jt.square,
    "tanh": jt.tanh,
    "sigmoid": jt.sigmoid,
    "relu": jt.nn.relu,
    "gelu": jt.nn.gelu,
    "log1p of square": lambda x: jt.math.log1p(x * x),
    "sqrt": lambda x: jt.sqrt(x + 2.0),
    "polynomial": lambda x: 3.0 * x**3 - x**2 / 2.0 + 1.0,
    "quotient": lambda x: jt.sin(x) / (2.0 + jt.cos(x)),
    "where": lambda x: jt.where(x > 0.5, jt.exp(x), x * x),
    "clip": lambda x: jt.clip_by_value(jt.sin(x), -0.5, 0.5),
    "a long one": lambda x: jt.tanh(jt.sin(x) * jt.exp(-x * x) + jt.math.log1p(x * x)) * x,
}


@pytest.mark.parametrize("function", ELEMENTWISE.values(), ids=ELEMENTWISE.keys())
@pytest.mark.parametrize("shape", [(1000,), (20, 30)])
def test_value_and_gradient_of_a_sum_are_one_loop(function: Callable[[Any], Any], shape: tuple[int, ...]):
    x = jt.Variable(np.linspace(0, 1, int(np.prod(shape))).reshape(shape))

    def step() -> Any:
        with jt.GradientTape() as tape:
            y = jt.reduce_sum(function(x))
        return y, tape.gradient(y, x)

    for _ in range(2):
        y, gradient = step()
        float(y)
        gradient.numpy()
    page = jt.explain()
    (kernel,) = page.steps
    assert kernel.loops == 1
    lines = kernel.listing.splitlines()
    loops = [line for line in lines if line.lstrip().startswith("for ")]
    assert len(loops) == 1, kernel.listing
    # The data is read once, the gradient is written and the sum taken in that same loop.
    large = [
        line.strip() for line in lines if re.search(r"(load a\d+\[i0\])|(r\d+\[i0\] =)|(acc\d+ =)", line)
    ]
    assert len([line for line in large if "load" in line]) == 1
    assert len([line for line in large if line.startswith("r")]) == 1
    assert len([line for line in large if line.startswith("acc")]) == 1
    assert kernel.bytes_written == 8 * x.size + 8


def test_a_mean_has_its_value_and_gradient_in_one_loop_too():
    x = jt.Variable(np.linspace(0, 1, 1000))

    def step() -> Any:
        with jt.GradientTape() as tape:
            y = jt.reduce_mean(jt.exp(x))
        return y, tape.gradient(y, x)

    for _ in range(2):
        y, gradient = step()
        float(y)
        gradient.numpy()
    assert [kernel.loops for kernel in jt.explain().steps if kernel.loops] == [1]


# ---- what is no loop -------------------------------------------------------------------------------------------------


def test_a_product_of_matrices_is_a_step_of_its_own():
    a, b = jt.constant(np.ones((20, 30))), jt.constant(np.ones((30, 40)))
    page = explained(lambda: jt.exp(jt.matmul(a, b)))
    product = next(step for step in page.steps if "matmul" in [op.primitive.name for op in step.ops])
    assert product.operations >= 2 * 20 * 30 * 40
    assert product.bytes_read >= 8 * (20 * 30 + 30 * 40)


def test_an_op_that_numpy_evaluates_is_named():
    backwards = Primitive("backwards", abstract_eval=lambda x: x, impl=lambda x: x[::-1])
    x = jt.constant([2.0, 1.0])
    page = explained(lambda: jt.exp(apply(backwards, (jt.sin(x),))))
    assert [step.title.split()[0] for step in page.steps] == ["kernel", "NumPy", "kernel"]
    step = page.steps[1]
    assert (step.title, step.found, step.loops, step.listing) == ("NumPy step backwards", None, 0, "")
    assert "\n\n2. NumPy step backwards: 0 loops; reads 8 B, writes 8 B, 0 operations\n" in str(page)


# ---- found or compiled -----------------------------------------------------------------------------------------------


def odd(x: Any) -> Any:
    """A function that no other test has a kernel for."""
    return jt.atan(jt.sinh(jt.math.erfc(jt.cos(jt.nn.softsign(x)))))


def test_a_kernel_is_compiled_once_and_found_by_the_next_program():
    first = explained(lambda: odd(jt.constant(np.ones(100))))
    second = explained(lambda: odd(jt.constant(np.ones(200))))
    assert [step.found for step in first.steps] == [False]
    assert [step.found for step in second.steps] == [True]
    assert [step.listing for step in first.steps] == [step.listing for step in second.steps]
    assert "compiled for this program" in str(first)
    assert ", found;" in str(second)


# ---- counts ----------------------------------------------------------------------------------------------------------


def difference(before: jt.inspect.Stats) -> dict[str, Any]:
    return {name: a - b for name, a, b in zip(before._fields, jt.stats(), before, strict=True) if a != b}


def test_each_visit_counts_as_what_it_was():
    x = jt.constant(np.linspace(0, 2, 50))

    def step() -> None:
        jt.reduce_sum(jt.atan(jt.cosh(jt.tanh(jt.sin(x))))).numpy()

    before = jt.stats()
    step()
    first = difference(before)
    assert first == {"flushes": 1, "interpreted_runs": 1, "paths_recorded": 1, "trie_nodes": 5}
    before = jt.stats()
    step()
    second = difference(before)
    assert second.pop("compile_seconds") > 0
    assert second == {"flushes": 1, "compiled_runs": 1, "paths_found": 1, "programs": 1, "kernels": 1}
    before = jt.stats()
    step()
    step()
    assert difference(before) == {"flushes": 2, "compiled_runs": 2, "paths_found": 2}


def test_looking_again_counts_nothing():
    y = jt.sin(jt.constant(1.0))
    y.numpy()
    before = jt.stats()
    y.numpy()
    float(y)
    assert difference(before) == {}


def test_recording_alone_runs_nothing():
    x = jt.constant([1.0, 2.0])
    jt.sin(x).numpy()
    before = jt.stats()
    y = jt.cos(jt.exp(x)) + 1.0
    assert set(difference(before)) <= {"trie_nodes"}
    y.numpy()
    assert difference(before)["flushes"] == 1


def test_a_kernel_that_is_there_counts_as_found():
    explained(lambda: jt.sinh(jt.atan(jt.constant(np.ones(30)))))
    before = jt.stats()
    explained(lambda: jt.sinh(jt.atan(jt.constant(np.ones(40)))))
    found = difference(before)
    assert found["kernels_found"] == 1
    assert "kernels" not in found


def test_counting_from_zero_again():
    explained(lambda: jt.sin(jt.constant(1.0)))
    nodes = jt.stats().trie_nodes
    page = str(jt.explain())
    jt.reset_stats()
    assert jt.stats() == jt.Stats(*(0,) * 9, 0.0, nodes)
    assert str(jt.explain()) == page
    explained(lambda: jt.sin(jt.constant(1.0)), visits=1)
    assert jt.stats().flushes == 1


def test_counts_print_with_their_names():
    text = repr(jt.stats())
    assert text.startswith("Stats(flushes=")
    assert all(
        f"{name}=" in text for name in ("compiled_runs", "kernels_found", "compile_seconds", "trie_nodes")
    )


def test_explain_takes_no_tensor():
    with pytest.raises(
        TypeError, match="passes must be True or False, got Tensor; explain.. shows the last step"
    ):
        jt.explain(jt.constant([1.0, 2.0]))
