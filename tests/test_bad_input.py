"""Input that is wrong, or at the edge of being so: what it is told, and that nothing is the worse for it.

Every row is a thing that a user does in the middle of a training loop. In its test the loop runs as many steps as
without it, and must come to the same numbers, with the same Variables and a tape that can still be used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import pytest

import jittape as jt

pytestmark = pytest.mark.usefixtures("mode")


class Loop:
    """A small training loop."""

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        self.x = jt.constant(rng.normal(size=(8, 3)).astype(np.float32))
        self.y = jt.constant(rng.normal(size=8).astype(np.float32))
        self.w = jt.Variable([0.1, 0.2, 0.3], name="w")
        self.b = jt.Variable(0.5, name="b")

    def loss(self) -> Any:
        return jt.reduce_mean(jt.square(jt.reduce_sum(self.x * self.w, axis=1) + self.b - self.y))

    def step(self) -> float:
        with jt.GradientTape() as tape:
            loss = self.loss()
        dw, db = tape.gradient(loss, [self.w, self.b])
        self.w.assign_sub(0.1 * dw)
        self.b.assign_sub(0.1 * db)
        return float(loss)

    def state(self) -> list[Any]:
        return [*self.w.numpy().tolist(), float(self.b)]


class Case(NamedTuple):
    name: str
    do: Callable[[Loop, Any], Any]
    error: type[Exception] | None = None
    message: str = ""
    check: Callable[[Any], Any] | None = None


def ones(*shape: int) -> Any:
    return jt.constant(np.ones(shape, np.float32))


def assigned_then_failed(loop: Loop, tape: Any) -> Any:
    loop.w.assign(ones(4))


def raised(loop: Loop, tape: Any) -> Any:
    raise KeyError("the user's own")


def none_gradient(target: Callable[[Any], Any]) -> Callable[[Loop, Any], Any]:
    """What the gradient of `target` at integers gives, with the warning as an error."""

    def do(loop: Loop, tape: Any) -> Any:
        with jt.GradientTape() as inner:
            n = jt.constant([1, 2, 3])
            inner.watch(n)
            y = target(n)
        return inner.gradient(y, n)

    return do


def gradient_at(target: Callable[[Any], Any], value: Any) -> Callable[[Loop, Any], Any]:
    """Value and gradient of `target` at `value`."""

    def do(loop: Loop, tape: Any) -> Any:
        x = jt.constant(value)
        with jt.GradientTape() as inner:
            inner.watch(x)
            y = target(x)
        return y.numpy(), inner.gradient(y, x).numpy()

    return do


def gives(value: Any, gradient: Any) -> Callable[[Any], None]:
    def check(result: Any) -> None:
        np.testing.assert_array_equal(result[0], np.float32(value))
        np.testing.assert_array_equal(result[1], np.float32(gradient))
        assert result[1].shape == np.shape(gradient)

    return check


empty = np.zeros((0, 3), np.float32)
nan_data = np.float32([1.0, np.nan, 3.0])

CASES = [
    # shapes that do not fit
    Case("add", lambda s, t: s.w + ones(2), ValueError, r"\[add\] shapes \(3,\) and \(2,\) do not broadcast"),
    Case("matmul", lambda s, t: jt.matmul(s.x, s.x), ValueError, r"\[matmul\] .*3 columns against 8 rows"),
    Case(
        "concat",
        lambda s, t: jt.concat([s.x, ones(2, 2)], 0),
        ValueError,
        r"\[concat\] .* differ outside axis 0",
    ),
    Case(
        "reshape",
        lambda s, t: jt.reshape(s.x, (5, 5)),
        ValueError,
        r"cannot reshape 24 elements .*25 elements",
    ),
    # axes and indices
    Case(
        "axis", lambda s, t: jt.reduce_sum(s.x, axis=2), ValueError, "axis 2 is out of range for 2 dimensions"
    ),
    Case("negative axis", lambda s, t: jt.nn.softmax(s.x, axis=-3), ValueError, "axis -3 is out of range"),
    Case("permutation", lambda s, t: jt.transpose(s.x, (0, 0)), ValueError, r"perm \(0, 0\) must name each"),
    Case("index", lambda s, t: s.w[3], IndexError, "index 3 is out of bounds for axis 0 with size 3"),
    Case("negative index", lambda s, t: s.w[-4], IndexError, "index -4 is out of bounds"),
    Case("too many", lambda s, t: s.w[0, 0], IndexError, r"too many indices: shape \(3,\) has 1 dimensions"),
    Case(
        "list index", lambda s, t: s.w[[0, 3]], IndexError, "index 3 is out of bounds for axis 0 with size 3"
    ),
    Case("gather", lambda s, t: jt.gather(s.w, [0, 9]), IndexError, "index 9 is out of bounds"),
    Case(
        "index known late",
        lambda s, t: jt.gather(s.w, jt.cast(s.b * 20.0, jt.int32)).numpy(),
        IndexError,
        r"index \d+ is out of bounds for axis 0 with size 3",
    ),
    Case("setitem", lambda s, t: s.w.__setitem__(5, 1.0), IndexError, "index 5 is out of bounds"),
    Case(
        "segment id",
        lambda s, t: jt.math.unsorted_segment_sum(s.w, [0, 1, 2], 2),
        IndexError,
        r"segment_ids\[2\] = 2 is out of range: it must be less than num_segments=2",
    ),
    Case(
        "segment id known late",
        lambda s, t: jt.math.unsorted_segment_max(s.w, jt.cast(s.w * 0.0 + 7.0, jt.int32), 2).numpy(),
        IndexError,
        r"segment_ids\[0\] = 7 is out of range",
    ),
    Case(
        "unsorted ids",
        lambda s, t: jt.math.segment_sum(s.w, [1, 0, 2]),
        ValueError,
        "use unsorted_segment_sum",
    ),
    Case(
        "segment ids of floats",
        lambda s, t: jt.math.unsorted_segment_mean(s.w, s.w, 3),
        TypeError,
        r"\[unsorted_segment_mean\] segment_ids must be integers, got float32; cast them first",
    ),
    Case(
        "rows of LU factors",
        lambda s, t: jt.linalg.lu_solve(jt.eye(2), jt.cast(s.w[:2] * 40.0, jt.int32), jt.eye(2)).numpy(),
        ValueError,
        r"\[lu_solve\] perm must be from 0 to 1, got perm\[\d\] = -?\d+",
    ),
    # matrices in a batch
    Case(
        "singular",
        lambda s, t: jt.linalg.inv(jt.stack([jt.eye(2), jt.zeros((2, 2)), jt.eye(2)])).numpy(),
        jt.LinAlgError,
        r"\[inv\] .* Matrix 1 of the batch is singular: a pivot is zero; use lstsq or pinv",
    ),
    Case(
        "not positive definite",
        lambda s, t: jt.linalg.cholesky(jt.stack([jt.eye(2), jt.eye(2), -jt.eye(2)])).numpy(),
        jt.LinAlgError,
        r"\[cholesky\] .* Matrix 2 of the batch is not positive definite",
    ),
    Case(
        "deficient",
        lambda s, t: jt.linalg.lstsq(jt.stack([ones(3, 2), jt.eye(3, 2)]), ones(2, 3, 1)).numpy(),
        jt.LinAlgError,
        r"\[lstsq\] .* Matrix 0 of the batch does not have full rank up to rounding; use fast=False",
    ),
    # dtypes and values that are no numbers
    Case("text", lambda s, t: s.w + "a", TypeError, "Cannot convert 'a' to a tensor"),
    Case("None", lambda s, t: s.w * None, TypeError, "Cannot convert None to a tensor"),
    Case(
        "ragged",
        lambda s, t: jt.constant([[1.0], [1.0, 2.0]]),
        ValueError,
        "of type 'list' to a tensor: its parts have different shapes",
    ),
    Case(
        "float as index", lambda s, t: s.w[1.5], IndexError, "a key consists of ints, slices, .*; got float"
    ),
    Case(
        "truth of a vector", lambda s, t: bool(s.w), ValueError, r"bool\(\) needs a tensor with one element"
    ),
    Case(
        "dtype without a gradient",
        none_gradient(lambda n: n * 2),
        jt.UnconnectedGradientWarning,
        "int32; only floating and complex values have gradients",
    ),
    Case("complex", lambda s, t: s.w.assign(np.ones(3, complex)), TypeError, "does not cast to float32"),
    # the tape
    Case(
        "float as target",
        lambda s, t: t.gradient(1.0, s.w),
        TypeError,
        "target must be a jt.Tensor .*got float",
    ),
    Case("array as target", lambda s, t: t.gradient(np.ones(3), s.w), TypeError, "got ndarray"),
    Case(
        "None as target", lambda s, t: t.gradient(None, s.w), TypeError, "'target' should be a list or nested"
    ),
    Case("text as source", lambda s, t: t.gradient(s.b * 1.0, "w"), TypeError, "a source must be .*got str"),
    Case("array watched", lambda s, t: t.watch(np.ones(3)), ValueError, r"x = jt.constant\(x\)"),
    Case("an exception in the block", raised, KeyError, "the user's own"),
    # Variables
    Case(
        "assign",
        assigned_then_failed,
        ValueError,
        r"variable 'w:0': Shape mismatch\. The variable shape \(3,\)",
    ),
    Case("assign_add", lambda s, t: s.b.assign_add(ones(2)), ValueError, "Shape mismatch"),
    Case("assign_sub", lambda s, t: s.w.assign_sub(ones(2)), ValueError, "do not broadcast"),
    Case("no initial value", lambda s, t: jt.Variable(None), ValueError, "initial_value"),
    # values at the edge, which are no errors
    Case("nan in a sum", gradient_at(jt.reduce_sum, nan_data), check=gives(np.nan, [1.0, 1.0, 1.0])),
    Case(
        "nan in a square", gradient_at(jt.square, nan_data), check=gives([1, np.nan, 9], [2.0, np.nan, 6.0])
    ),
    Case(
        "nan in a maximum",
        gradient_at(lambda x: jt.maximum(x, 2.0), nan_data),
        check=lambda r: np.isnan(r[0][1]),
    ),
    Case("empty sum", gradient_at(jt.reduce_sum, empty), check=gives(0.0, empty)),
    Case("empty elementwise", gradient_at(lambda x: jt.exp(x) * x, empty), check=gives(empty, empty)),
    Case(
        "empty matmul", gradient_at(lambda x: jt.matmul(x, ones(3, 2)), empty), check=gives(ones(0, 2), empty)
    ),
    Case(
        "empty inner",
        gradient_at(lambda x: jt.matmul(jt.transpose(x), x), empty),
        check=gives(np.zeros((3, 3)), empty),
    ),
    Case("0-d square", gradient_at(jt.square, np.float32(3.0)), check=gives(9.0, 6.0)),
    Case(
        "0-d sum",
        gradient_at(lambda x: jt.reduce_sum(x) * 2.0, np.array(3.0, np.float32)),
        check=gives(6.0, 2.0),
    ),
    Case(
        "0-d reshape",
        gradient_at(lambda x: jt.reshape(x, (1, 1)), np.float32(3.0)),
        check=gives([[3.0]], 1.0),
    ),
]


def clean_run(steps: int) -> tuple[list[float], list[Any]]:
    loop = Loop()
    return [loop.step() for _ in range(steps)], loop.state()


def attempt(case: Case, loop: Loop, tape: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if case.error is None:
            result = case.do(loop, tape)
            assert case.check is not None
            case.check(result)
        else:
            with pytest.raises(case.error, match=case.message):
                case.do(loop, tape)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_is_the_worse_for_it(case: Case):
    """Twice inside a tape that is used afterwards, twice in one that is lost: interpreted first, compiled then."""
    losses, state = clean_run(6)
    loop = Loop()
    seen = [loop.step()]
    for _ in range(2):
        with jt.GradientTape(persistent=True) as tape:
            loss = loop.loss()
            attempt(case, loop, tape)
            more = loop.b * 3.0
        assert tape.gradient(more, loop.b).numpy() == 3.0
        gradient = tape.gradient(loss, loop.b)
        assert np.isfinite(gradient.numpy())
        seen.append(loop.step())
    for _ in range(2):
        attempt(case, loop, jt.GradientTape(persistent=True).__enter__())
        seen.append(loop.step())
    seen.append(loop.step())
    np.testing.assert_allclose(seen, losses, rtol=2e-6)
    np.testing.assert_allclose(loop.state(), state, rtol=2e-6)


def test_an_exception_between_assignments_keeps_those_before_it():
    loop = Loop()
    with pytest.raises(ValueError, match="do not broadcast"), jt.GradientTape():
        loop.b.assign(2.0 * loop.b)
        loop.w.assign(loop.w + ones(2))
    assert float(loop.b) == 1.0
    np.testing.assert_array_equal(loop.w, np.float32([0.1, 0.2, 0.3]))


@pytest.mark.parametrize("taped", [False, True])
@pytest.mark.parametrize("visit", [1, 2])
def test_a_failure_at_run_time_keeps_what_was_done_before_it(visit: int, taped: bool):
    """Index errors of indices that are computed come when the step runs; it is as if they came on their own line."""
    for _ in range(visit):
        v, w, x = jt.Variable(1.0), jt.Variable(2.0), jt.constant([1.0, 2.0, 3.0])
        tape = jt.GradientTape(persistent=True)
        with tape if taped else nullcontext():
            index = jt.cast(w * 10.0, jt.int32)
            v.assign_add(x[1])
            bad = jt.gather(x, index)
            good = x * 2.0 * v
            v.assign_add(good[0])
            w.assign(bad)
            with pytest.raises(IndexError, match="index 20 is out of bounds"):
                float(good[1])
            np.testing.assert_array_equal(good, [6.0, 12.0, 18.0])
            assert float(v) == 3.0
            assert float(w) == 2.0
            for look in (bad.numpy, lambda bad=bad: bad + 1.0, lambda bad=bad, v=v: v.assign(bad)):
                with pytest.raises(IndexError, match="index 20 is out of bounds"):
                    look()
            v.assign_add(1.0)
            assert float(v) == 4.0
        if taped:
            np.testing.assert_array_equal(tape.gradient(good, v), 12.0)
            for target, source in ((bad, v), (good, bad), (good, [v, bad])):
                with pytest.raises(IndexError, match="index 20 is out of bounds"):
                    tape.gradient(target, source)


def test_a_nan_in_a_step_is_no_secret_and_no_error():
    w = jt.Variable([1.0, 2.0])
    for _ in range(3):
        with jt.GradientTape() as tape:
            loss = jt.reduce_sum(w * jt.constant([1.0, np.nan]))
        gradient = tape.gradient(loss, w)
        assert np.isnan(loss.numpy())
        np.testing.assert_array_equal(gradient, [1.0, np.nan])


@pytest.mark.parametrize("labels", [[7, 0], [-1, 0], np.array([0, 3])])
def test_a_label_that_is_no_class(labels, mode):
    logits = jt.Variable([[1.0, 2.0, 3.0]] * 2)
    place = next(i for i, label in enumerate(labels) if not 0 <= label < 3)
    message = (
        rf"^\[sparse_softmax_cross_entropy_with_logits\] label {labels[place]} at index \({place},\) is not a class: "
        "logits have the classes 0 to 2"
    )
    hidden, steps = jt.constant(np.asarray(labels)), jt.Variable(0.0)
    for _ in range(3):
        with pytest.raises(IndexError, match=message):
            jt.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        steps.assign_add(1.0)
        loss = jt.nn.sparse_softmax_cross_entropy_with_logits(hidden, logits)
        with pytest.raises(IndexError, match=message) as raised:
            loss.numpy()
        assert "test_bad_input.py" in raised.value.__notes__[0]
    assert float(steps) == 3.0


def test_more_dimensions_than_numpy_computes_with():
    x = jt.constant(np.ones((1,) * 32))
    with pytest.raises(ValueError, match=r"\[expand_dims\] the result has 33 dimensions"):
        jt.expand_dims(x, 0)
