"""What loops and branches refuse: each error names the operation, what was found and the way out."""

from __future__ import annotations

import re

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp

X = np.array([1.0, 2.0, 3.0])


def x():
    return jt.constant(X)


@pytest.fixture(params=[False, True], ids=["recorded", "function"], autouse=True)
def traced(request):
    return request.param


def refuses(traced, error, pattern, function):
    """`function` raises `error` with a message that matches, and what was recorded before is untouched."""
    v = jt.Variable(1.0)
    v.assign_add(1.0)
    pending = x() * 2.0
    with pytest.raises(error) as caught:
        (jt.function(function) if traced else function)()
    assert re.search(pattern, str(caught.value)), str(caught.value)
    assert float(v) == 2.0
    np.testing.assert_array_equal(pending.numpy(), 2 * X)


SHAPES = [
    (lambda: jt.fori_loop(0, 3, lambda i, s: jt.concat([s, s], 0), x()), r"\[fori_loop\] the value has shape \(3,\)"),
    (lambda: jt.scan(lambda a, e: a[:-1], x(), initializer=x()), r"\[scan\] the accumulator .*\(3,\).*\(2,\)"),
    (
        lambda: jt.while_loop(lambda s, n: n < 3, lambda s, n: (s[:, None], n + 1), (x(), 0)),
        r"\[while_loop\] a loop variable, leaf 0, has shape \(3,\) .* and \(3, 1\) .* stay the same",
    ),
    (lambda: jt.while_loop(lambda s: s > 0, lambda s: s, (x(),)), r"\[while_loop\] cond must be a scalar.*\(3,\)"),
    (lambda: jt.cond(x() > 0, lambda: x(), lambda: x()), r"\[cond\] pred must be a scalar.*jt.where"),
    (lambda: jt.case([(x() > 0, lambda: x())]), r"\[case\] predicate 0 must be a scalar"),
    (lambda: jt.switch_case(jt.constant([1, 2]), [lambda: x()]), r"\[switch_case\] branch_index must be a scalar"),
    (lambda: jt.cond(x()[0] > 0, lambda: x(), lambda: x()[1:]), r"\[cond\] .*same shapes: branch 0 returns \(3,\)"),
    (lambda: jt.map_fn(lambda p: p[0], (x(), x()[1:])), r"\[map_fn\] .*same length.*\(3,\), \(2,\)"),
    (lambda: jt.map_fn(lambda p: p, jt.constant(1.0)), r"\[map_fn\] elems must have a first axis"),
    (lambda: jt.foldl(lambda a, e: a + e, [1.0, 2.0]), r"\[foldl\] elems must have a first axis.*jt.constant"),
]  # fmt: skip

DTYPES = [
    (lambda: jt.fori_loop(0, 3, lambda i, s: jt.cast(s, jt.float32), x()), r"float64 when .* float32 after.*jt.cast"),
    (lambda: jt.while_loop(lambda s: s[0], lambda s: s, (x(),)), r"\[while_loop\] cond must be a bool, but is float64"),
    (lambda: jt.cond(1, lambda: x(), lambda: x()), r"\[cond\] pred must be a bool, but is int32"),
    (lambda: jt.switch_case(jt.constant(1.0), [lambda: x()]), r"branch_index must be an integer, but is float32"),
    (lambda: jt.cond(x()[0] > 0, lambda: x(), lambda: jt.cast(x(), jt.int32)), r"same dtypes.*float64.*int32"),
    (lambda: jt.fori_loop(0, 2.5, lambda i, s: s, x()), r"\[fori_loop\] a bound must be an integer"),
    (lambda: jt.map_fn(lambda e: e, x(), fn_output_signature=jt.float32), r"fn returns float64 where .*float32"),
    (lambda: jt.cond(x()[0] > 0, x(), lambda: x()), r"\[cond\] a branch must be a function"),
]  # fmt: skip

RULES = [
    (lambda: jt.fori_loop(5, 3, lambda i, s: s, x()), r"\[fori_loop\] upper 3 is less than lower 5, a negative number"),
    (
        lambda: jt.while_loop(lambda s: s[0] > 0, lambda s: s, (x(),), maximum_iterations=-1),
        r"\[while_loop\] maximum_iterations must not be negative, but is -1",
    ),
    (lambda: jt.scan(lambda a, e: a + e, x()[:0]), r"\[scan\] elems is empty and there is no initializer: pass an"),
    (lambda: jt.foldr(lambda a, e: a + e, x()[:0]), r"\[foldr\] elems is empty"),
    (lambda: jt.fori_loop(0, 3, lambda i, s: (s[0],), (x(), x())), r"the result of body_fun .*same structure"),
    (lambda: jt.scan(lambda a, e: {"a": a}, x(), initializer=x()), r"the result of fn must have the same structure"),
    (lambda: jt.cond(x()[0] > 0, lambda: x(), lambda: (x(), x())), r"\[cond\] .*same structure: branch 0 returns"),
    (lambda: jt.map_fn(lambda e: e, ()), r"\[map_fn\] elems has no tensors"),
    (lambda: jt.while_loop(lambda: True, lambda: (), ()), r"\[while_loop\] loop_vars has no tensors"),
    (lambda: jt.fori_loop(0, 9, lambda i, s: s, x(), checkpoint=0), r"checkpoint must be 'sqrt' or a positive number"),
    (lambda: jt.fori_loop(0, 9, lambda i, s: s, x(), checkpoint="all"), r"checkpoint must be .*'all'"),
    (
        lambda: jt.while_loop(lambda s: s[0] > 0, lambda s: s, (x(),), checkpoint="sqrt"),
        r"\[while_loop\] checkpoint='sqrt' requires .*maximum_iterations",
    ),
    (lambda: jt.case([]), r"\[case\] pred_fn_pairs is empty"),
    (lambda: jt.switch_case(0, []), r"\[switch_case\] branch_fns is empty"),
    (lambda: jt.switch_case(0, [(1, lambda: x()), (1, lambda: x())]), r"two functions for the same index"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "pattern"), SHAPES)
def test_shapes(traced, function, pattern):
    refuses(traced, jt.ShapeError, pattern, function)


@pytest.mark.parametrize(("function", "pattern"), DTYPES)
def test_dtypes(traced, function, pattern):
    refuses(traced, TypeError, pattern, function)


@pytest.mark.parametrize(("function", "pattern"), RULES)
def test_arguments(traced, function, pattern):
    refuses(traced, jt.ControlFlowError, pattern, function)


def branching(i, s):
    return s * 2.0 if s[0] > 0 else s


def looking(i, s):
    return s * float(s[0])


@pytest.mark.parametrize(("body", "action"), [(branching, "bool"), (looking, "float")])
def test_a_body_has_no_values(traced, body, action):
    line = body.__code__.co_firstlineno + 1
    pattern = (
        rf"\[fori_loop\] the body needs the value of a tensor for {action}\(\) at .*errors.py:{line}.*jt.cond"
    )
    refuses(traced, jt.ControlFlowError, pattern, lambda: jt.fori_loop(0, 3, body, x()))


@pytest.mark.parametrize("function", [jnp.unique, jnp.nonzero, jt.unique])
def test_a_body_that_is_a_function_of_jittape_is_named(function):
    with pytest.raises(
        jt.ControlFlowError, match=rf"the body needs the value of a tensor for {function.__name__}\(\)"
    ):
        jt.vmap(function)(jt.ones([2, 3]))


def test_a_body_assigns_nothing(traced):
    v = jt.Variable(1.0)

    def body(i, s):
        v.assign_add(1.0)
        return s

    pattern = r"\[fori_loop\] the body assigns variable 'Variable:0' at .*errors.py:\d+.*return the new value"
    refuses(traced, jt.ControlFlowError, pattern, lambda: jt.fori_loop(0, 3, body, x()))
    refuses(
        traced,
        jt.ControlFlowError,
        "assigns",
        lambda: jt.cond(x()[0] > 0, lambda: v.assign(2.0), lambda: v.value()),
    )
    assert float(v) == 1.0


def test_a_body_makes_no_variable(traced):
    pattern = r"\[scan\] the body creates a jt.Variable at .*create it before"
    refuses(traced, jt.ControlFlowError, pattern, lambda: jt.scan(lambda a, e: a + jt.Variable(1.0), x()))


def test_a_tensor_that_leaks_says_where_from(traced):
    kept = []

    def body(i, s):
        kept.append(s * 2.0)
        return s

    jt.fori_loop(0, 3, body, x())
    refuses(traced, jt.LeakedTensorError, r"the body of fori_loop is used outside", lambda: kept[0] + 1.0)
    refuses(
        traced,
        jt.LeakedTensorError,
        r"the body of fori_loop is used outside",
        lambda: jt.map_fn(lambda e: e * kept[0], x()),
    )
    with pytest.raises(jt.LeakedTensorError):
        kept[0].numpy()


def test_random_numbers_of_a_loop_of_unknown_length(traced):
    def body(s, n):
        return s + jt.random.normal([3], dtype=jt.float64), n + 1

    pattern = (
        r"\[while_loop\] random numbers in the body, at .*draw them before, or use jt.scan or jt.fori_loop"
    )
    refuses(traced, jt.ControlFlowError, pattern, lambda: jt.while_loop(lambda s, n: n < 3, body, (x(), 0)))


def test_an_error_of_the_body_itself_comes_through(traced):
    refuses(
        traced,
        jt.ShapeError,
        r"\(3,\) and \(2,\)",
        lambda: jt.fori_loop(0, 3, lambda i, s: s + jt.ones([2]), x()),
    )


def test_a_carry_that_becomes_wider_raises_the_public_error():
    with pytest.raises(jt.DTypeError, match=r"\[fori_loop\] .* is float32 .* float64") as caught:
        jt.fori_loop(0, 3, lambda i, a: a * jt.constant(1.5, "float64"), jt.constant(1.0))
    assert type(caught.value) is jt.DTypeError
