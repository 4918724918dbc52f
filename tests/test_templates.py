"""What is recorded once and put down again elsewhere: when, when not, and that it is the same to the last slot."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path as File
from types import CodeType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import jittape as jt
import jittape.optimizers
import jittape.primitives
from jittape.core.builder import literal_op
from jittape.core.dtypes import default_dtype
from jittape.core.primitive import Primitive, apply
from jittape.core.program import SourceLine
from jittape.primitives.broadcast import as_symbol
from jittape.primitives.elementwise.arithmetic import add_op
from jittape.primitives.elementwise.exponential import exp_op
from jittape.primitives.indexing.index_keys import Slicing
from jittape.primitives.shape.views import Region
from jittape.recording import trie_insertion
from jittape.recording.trace import current_trace
from jittape.recording.trie import path_to, trie
from jittape.transform import templates
from jittape.transform.differentiate import Reverse
from jittape.transform.op_paths import Path
from jittape.transform.templates import Memory, Template, is_pure, types_of
from primitive_table import Row
from recipes import Recipe
from test_primitives import ROWS
from test_random_programs import anything, floats

Counts = dict[str, int]
SAID = [
    *("aval", "inputs", "n_inputs", "n_ops", "n_slots", "nbytes", "op_avals", "ops", "results"),
    *("scalars", "slot", "takes_scalars_as_given"),
]
"""The attributes of a node that a call decides."""


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No situation is known, and no path."""
    monkeypatch.setattr(trie_insertion, "_calls", Memory())
    monkeypatch.setattr("jittape.transform.differentiate._rules", Memory())
    begin()
    before = jt.config.default_float
    yield
    jt.config.default_float = before


def begin() -> None:
    """An empty trie, and a trace that begins in it."""
    current_trace().flush()
    trie.clear()
    with jt.GradientTape():
        pass


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Counts:
    """How often bodies and gradient rules are run."""
    counts = {"bodies": 0, "rules": 0}

    def counted(kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*args: Any) -> Any:
            counts[kind] += 1
            return function(*args)

        return counting

    monkeypatch.setattr(trie_insertion, "_run", counted("bodies", trie_insertion._run))
    monkeypatch.setattr(Reverse, "_run_rule", counted("rules", Reverse._run_rule))
    return counts


def unrolled(x: Any, steps: int) -> Any:
    total = x
    for k in range(steps):
        x = jt.sin(x) * 2.0 + x[k % 3]
        total = total + x
    return total


def ours(function: Any) -> Any:
    """A function that passes for one of the package's."""
    function.__module__ = "jittape.primitives.mine"
    return function


def recorded(function: Callable[..., Any], *arrays: Any) -> Path:
    """What a call and, where there is one, its gradient put on an empty path."""
    begin()
    operands = [jt.constant(x) for x in arrays]
    with jt.GradientTape() as tape:
        tape.watch(operands)
        made = function(*operands)
        made = made if isinstance(made, (tuple, list)) else [made]
    targets = [y for y in made if y.dtype.kind == "f"]
    if targets:
        tape.gradient(targets, operands, unconnected_gradients="zero")
    return path_to(current_trace().node)


def recorded_without(function: Callable[..., Any], *arrays: Any) -> Path:
    """The same, every body and rule run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Memory, "find", lambda self, template_key: None)
        return recorded(function, *arrays)


def assert_same_recording(function: Callable[..., Any], *arrays: Any) -> None:
    def elsewhere(*xs: Any) -> Any:
        [jt.square(x) for x in xs if x.dtype.kind == "f"]  # so that the slots are others
        return function(*xs)

    recorded(elsewhere, *arrays)
    again, fresh = recorded(function, *arrays), recorded_without(function, *arrays)
    assert again.ops == fresh.ops
    assert again.inputs == fresh.inputs
    assert again.avals == fresh.avals
    assert again.variables == fresh.variables


# ---- once ------------------------------------------------------------------------------------------------------------


def test_an_unrolled_loop_runs_each_body_and_rule_once(runs: Counts):
    def run(steps: int) -> Counts:
        begin()
        x = jt.constant(np.ones(3))
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = unrolled(x, steps)
        tape.gradient(y, x)
        return dict(runs)

    first = run(5)
    assert 0 < first["bodies"] < 10
    assert 0 < first["rules"] < 15
    # All that is run again is what gives a watched tensor its slot.
    assert run(60) == {"bodies": first["bodies"] + 1, "rules": first["rules"]}


def test_a_function_that_is_traced_runs_them_once(runs: Counts):
    function = jt.function(lambda x: unrolled(x, 30))
    x = np.linspace(0.0, 1.0, 3)
    expected = x.copy()
    y = x.copy()
    for k in range(30):
        y = np.sin(y) * 2.0 + y[k % 3]
        expected = expected + y
    np.testing.assert_allclose(function(jt.constant(x)), expected)
    assert runs["bodies"] < 10


def test_each_op_names_its_own_line():
    x = jt.constant([1.0, 2.0])
    y = jt.sin(x)
    z = jt.sin(y)
    sources = [op.source for op in path_to(current_trace().node).ops]
    assert [isinstance(source, SourceLine) for source in sources] == [True, True]
    assert sources[1].line == sources[0].line + 1
    assert z.shape == (2,)


# ---- again where something is different ------------------------------------------------------------------------------


def test_one_value_twice_is_another_situation_than_two(runs: Counts):
    x, y = jt.constant([1.0, 2.0]), jt.constant([10.0, 20.0])
    a, b = jt.exp(x), jt.exp(y)
    assert (a + a).numpy() == pytest.approx(2 * np.exp([1.0, 2.0]))
    assert (a + b).numpy() == pytest.approx(np.exp([1.0, 2.0]) + np.exp([10.0, 20.0]), rel=1e-6)
    assert (b + a - (b + b)).numpy() == pytest.approx(np.exp([1.0, 2.0]) - np.exp([10.0, 20.0]), rel=1e-6)


def test_one_array_that_comes_in_twice():
    for number in (2.0, 3.0):
        x = jt.constant([number])
        assert (x * x).tolist() == [number * number]
        y = jt.constant([5.0])
        one, other = x * y, jt.constant([7.0]) * y
        assert one.tolist() == [5.0 * number]
        assert other.tolist() == [35.0]


def test_the_default_float_is_a_part_of_the_situation():
    assert jt.sin(1).dtype == np.float32
    assert jt.sin(jt.constant([1], "int32") * 1.0).dtype == np.float64
    jt.config.default_float = "float64"
    assert jt.sin(1).dtype == np.float64
    x = jt.constant(2.0)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = jt.sin(x)
    assert tape.gradient(y, x).dtype == np.float64


def test_the_default_float_is_a_part_of_a_rule_s_situation():
    def rule(g: Any, out: Any, x: Any) -> Any:
        return jt.multiply(g, float(default_dtype(float) == np.float64))

    op = Primitive("mine", abstract_eval=lambda x: x, impl=lambda x: x, vjp=(ours(rule),))
    for default, expected in (("float32", 0.0), ("float64", 1.0), ("float32", 0.0)):
        jt.config.default_float = default
        x = jt.constant(np.ones(()))
        with jt.GradientTape() as tape:
            tape.watch(x)
            y = apply(op, (x,))
        assert float(tape.gradient(y, x)) == expected


def test_equal_parameters_that_are_different_are_two_situations():
    def body(x: Any, number: float) -> Any:
        return jt.divide(1.0, jt.multiply(x, number))

    ours(body)
    x = jt.exp(jt.constant([1.0]))
    one, other = apply(body, (x,), (0.0,)), apply(body, (x,), (-0.0,))
    assert one.tolist() == [np.inf]
    assert other.tolist() == [-np.inf]


@pytest.mark.parametrize(
    ("one", "other"), [((1,), (True,)), ((1,), (1.0,)), ((0.0,), (-0.0,)), (((0, 1),), ((False, 1),))]
)
def test_equal_parameters_may_be_different(one: tuple[Any, ...], other: tuple[Any, ...]):
    assert one == other
    assert types_of(one) is not None
    assert types_of(one) != types_of(other)


def test_parameters_that_are_no_plain_data_are_not_remembered(runs: Counts):
    class Axis:
        def __index__(self) -> int:
            return 0

    row = Slicing(Region((0,), (None,), (1,), (1,)), (2,))
    assert types_of((None, "x", 1, (2, 3.0), np.dtype("int32"), row)) is not None
    assert types_of((Axis(),)) is None
    assert types_of(((1, len),)) is None


def test_a_scalar_of_another_kind(runs: Counts):
    x = jt.constant([1, 2], "int32")
    for _ in range(2):
        assert (x + 1).dtype == np.int32
        assert (x + 1.0).dtype == np.float64
        assert (x + np.float32(1)).dtype == np.float64
        assert (x + True).tolist() == [2, 3]
        x = x + 0
    with pytest.raises(OverflowError, match="does not fit int32"):
        x + 2**40


def test_variables_and_constants_come_in_as_what_they_are():
    for value in (1.0, 2.0):
        trained, fixed = jt.Variable([value]), jt.Variable([value], trainable=False)
        with jt.GradientTape() as tape:
            y = jt.exp(trained) + jt.exp(fixed) + jt.exp(jt.constant([value]))
        assert len(tape.watched_variables()) == 1
        assert tape.gradient(y, trained).numpy() == pytest.approx(np.exp([value]))


def test_a_node_is_made_alike():
    """All that a node says, for calls of every kind, and not only what is asked of most."""

    def calls(x: Any) -> list[Any]:
        y = jt.sin(x)
        return [
            y + 1,
            *jt.unstack(y),
            *jt.nn.moments(y * np.float32(2), 0),
            y[0],
            y[0, 1:],
            jt.zeros(3),
            x * x,
        ]

    def nodes() -> list[tuple[Any, ...]]:
        with jt.GradientTape():
            kept = calls(jt.constant(np.ones((2, 3)))), calls(jt.Variable(np.ones((2, 3))))
            node, found = current_trace().node, []
        while node.parent is not None:
            found.append(tuple([getattr(node, name) for name in SAID]))
            node = node.parent
        assert kept
        return found

    begin()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Memory, "find", lambda self, template_key: None)
        expected = nodes()
    begin()
    first = nodes()
    begin()
    assert nodes() == first == expected


def test_several_results():
    def both(x: Any) -> Any:
        a, b = jt.unstack(x)
        mean, variance = jt.nn.moments(a * b, 0)
        return jt.stack([mean, variance])

    x = np.arange(6.0).reshape(2, 3)
    for shift in (0.0, 1.0):
        product = (x[0] + shift) * (x[1] + shift)
        assert both(jt.constant(x) + shift).tolist() == pytest.approx([product.mean(), product.var()])


# ---- never -----------------------------------------------------------------------------------------------------------


def test_a_body_of_somebody_else_is_run_each_time():
    calls = []

    def body(x: Any) -> Any:
        calls.append(len(calls))
        return add_op.bind(as_symbol(x), as_symbol(x)) if len(calls) % 2 else exp_op.bind(as_symbol(x))

    x = jt.constant(np.zeros(2))
    for _ in range(4):
        x = apply(body, (x,))
    assert calls == [0, 1, 2, 3]
    # exp(0) = 1, twice 1, ...
    assert x.tolist() == pytest.approx([np.exp(2.0)] * 2)


def test_a_rule_of_somebody_else_is_run_each_time():
    calls = []

    def rule(g: Any, out: Any, x: Any) -> Any:
        calls.append(None)
        return g

    op = Primitive("mine", abstract_eval=lambda x: x, impl=lambda x: x, vjp=(rule,))
    x = jt.constant(np.zeros(2))
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(4):
            y = apply(op, (y,))
    assert tape.gradient(y, x).tolist() == [1.0, 1.0]
    assert len(calls) == 4


def test_a_rule_of_somebody_else_may_use_any_value():
    kept = []

    def result(x: Any) -> Any:
        return x

    def rule(g: Any, out: Any, x: Any) -> Any:
        kept.append(g)
        return jt.multiply(g, kept[0])

    op = Primitive("mine", abstract_eval=result, impl=lambda x: x, vjp=(rule,))
    x = jt.constant(np.ones(2))
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = 3.0 * apply(op, (apply(op, (apply(op, (x,)),)),))
    assert tape.gradient(y, x).tolist() == [81.0, 81.0]


def test_an_op_with_a_result_rule_of_somebody_else_asks_it_each_time():
    asked = []

    def result(x: Any) -> Any:
        asked.append(x)
        return x

    op = Primitive("mine", abstract_eval=result, impl=lambda x: x)
    x = jt.constant(np.zeros(2))
    for _ in range(3):
        x = apply(op, (x,))
    assert len(asked) == 3


def test_what_fails_fails_each_time_on_its_own_line():
    x, y = jt.constant(np.zeros(2)), jt.constant(np.zeros(3))
    for _ in range(3):
        with pytest.raises(jt.errors.ShapeError, match=r"\[add\] shapes \(2,\) and \(3,\) do not broadcast"):
            x + y
        x = jt.sin(x)
    assert len(trie_insertion._calls) == 2  # of an array that comes in, and of a value on the path


def test_random_numbers_are_drawn_each_time():
    drawn = [jt.random.normal((2,)).tolist() for _ in range(3)]
    assert drawn[0] != drawn[1] != drawn[2]


# ---- bounds, threads -------------------------------------------------------------------------------------------------


def test_memory_is_bounded(override_tuning: Callable[..., None]):
    override_tuning(template_slots=20)
    for n in range(50):
        x = jt.constant(np.arange(float(n)))
        assert float(jt.reduce_sum(jt.square(x) + 1.0)) == sum(i * i + 1 for i in range(n))
        assert len(trie_insertion._calls) <= 20


def test_memory_counts_slots(override_tuning: Callable[..., None]):
    override_tuning(template_slots=20)
    memory: Memory[str] = Memory()
    memory.keep("large", "", 21)
    assert memory.find("large") is None
    for n in range(10):
        memory.keep(n, "", 8)
    assert len(memory) <= 2
    assert memory.find(9) == ""


def test_threads_record_the_same_at_once():
    found: list[list[float]] = []

    def record() -> None:
        for steps in range(1, 12):
            x = jt.constant(np.ones(3))
            with jt.GradientTape() as tape:
                tape.watch(x)
                y = unrolled(x, steps)
            found.append([steps, *tape.gradient(y, x).tolist()])

    threads = [threading.Thread(target=record) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    record()
    expected = found[-11:]
    assert len(found) == 55
    assert sorted(found) == sorted(expected * 5)


# ---- the same to the last slot ---------------------------------------------------------------------------------------


def test_a_template_renumbers():
    path = recorded_without(lambda x, y: jt.multiply(x, y) + 1.0, np.ones((2, 1)), np.ones(3))
    (first, *_), last = path.ops, path.ops[2]
    template = Template.of(
        [first, path.ops[1], last], [path.avals[op.out] for op in path.ops[:3]], 2, 5, (0, 1)
    )
    assert [(op.args, op.out) for op in template.ops] == [((3,), 0), ((4,), 1), ((0, 1), 2)]
    moved = template.at(template.slots(10, (7, 8)), None)
    assert [(op.args, op.out) for op in moved] == [((7,), 10), ((8,), 11), ((10, 11), 12)]


@given(recipe=anything)
@settings(max_examples=60)
def test_random_programs_are_recorded_alike(recipe: Recipe):
    assert_same_recording(lambda *xs: [recipe.followed(xs)[i] for i in recipe.outputs], *recipe.inputs)


@given(recipe=floats)
@settings(max_examples=60)
def test_gradients_of_random_programs_are_recorded_alike(recipe: Recipe):
    assert_same_recording(lambda *xs: [recipe.followed(xs)[i] for i in recipe.outputs], *recipe.inputs)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_every_primitive_is_recorded_alike(row: Row):
    operands = row.sample(np.random.default_rng(1))
    assert_same_recording(row.function, *operands)


# ---- the claim -------------------------------------------------------------------------------------------------------

IMPURE = {
    "active",
    "active_recorder",
    "config",
    "current_trace",
    "open",
    "os",
    "time",
    "threading",
    "warnings",
}
"""Names by which a function could come to something other than its operands."""


def modules_of(package: Any) -> Iterator[Any]:
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(found.name)


def bodies_in(module: Any) -> Iterator[Any]:
    """What a module gives `apply` to record."""
    for node in ast.walk(ast.parse(File(module.__file__).read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "apply":
            body = node.args[0]
            if isinstance(body, ast.Name) and body.id in vars(module):
                yield vars(module)[body.id]


def names_in(code: CodeType) -> set[str]:
    return set(code.co_names).union(*[names_in(c) for c in code.co_consts if isinstance(c, CodeType)])


def test_no_module_of_primitives_knows_anything_but_its_operands():
    for module in modules_of(jittape.primitives):
        assert not vars(module).keys() & IMPURE, module


@pytest.mark.parametrize("package", [jittape.primitives, jittape.optimizers])
def test_the_bodies_are_pure(package: Any):
    bodies = [(module, body) for module in modules_of(package) for body in bodies_in(module)]
    assert len(bodies) > 10
    for module, body in bodies:
        assert is_pure(body), (module, body)
        if not isinstance(body, Primitive):
            assert not names_in(body.__code__) & IMPURE, body


def test_the_primitives_are_pure():
    primitives = [v for module in modules_of(jittape.primitives) for v in vars(module).values()]
    for primitive in primitives:
        if isinstance(primitive, Primitive) and primitive is not literal_op:
            assert is_pure(primitive), primitive
            assert templates.has_pure_rules(primitive), primitive
