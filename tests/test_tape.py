"""`GradientTape` point by point: entering, watching, asking for a gradient; test_tape_values.py goes on from there.

The names have the rows of the table on the page "Coming from TensorFlow".
"""

from __future__ import annotations

import inspect
import logging
import re
import warnings
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.autodiff import tape_arguments

UNCONNECTED = jt.UnconnectedGradientWarning


def watched(*values: Any, **options: Any) -> tuple[Any, ...]:
    """A tape that has been entered by hand, and constants that it watches."""
    tape = jt.GradientTape(**options)
    tape.__enter__()
    tensors = tuple(jt.constant(v) for v in values)
    tape.watch(tensors)
    return tape, *tensors


# ---- entering and leaving --------------------------------------------------------------------------


def test_g1_constructor_and_public_names():
    signature = inspect.signature(jt.GradientTape)
    assert {name: p.default for name, p in signature.parameters.items()} == {
        "persistent": False,
        "watch_accessed_variables": True,
    }
    public = {name for name in dir(jt.GradientTape) if not name.startswith("_")}
    assert public >= {
        "gradient",
        "jacobian",
        "batch_jacobian",
        "watch",
        "watched_variables",
        "stop_recording",
        "reset",
    }


def test_g2_enter_returns_the_tape_and_works_by_hand():
    tape = jt.GradientTape()
    assert tape.__enter__() is tape
    x = jt.Variable(3.0)
    y = x * x
    assert tape.__exit__(typ=None, value=None, traceback=None) is None
    assert tape.gradient(y, x).numpy() == 6.0


def test_g3_an_exception_in_the_block_passes_and_leaves_a_usable_tape():
    x = jt.Variable(3.0)
    with pytest.raises(ZeroDivisionError), jt.GradientTape() as tape:
        y = x * x
        raise ZeroDivisionError
    assert tape.gradient(y, x).numpy() == 6.0


def test_g3_an_exception_in_the_block_ends_the_recording():
    x = jt.Variable(3.0)
    with pytest.raises(ZeroDivisionError), jt.GradientTape(persistent=True) as tape:
        y = x * x
        raise ZeroDivisionError
    z = x * y
    with pytest.warns(UNCONNECTED, match="not recording"):
        assert tape.gradient(z, x) is None
    with jt.GradientTape() as later:
        w = x * x
    assert later.gradient(w, x).numpy() == 6.0


def test_g4_an_active_tape_is_not_entered_twice():
    message = "Tape is still recording, This can happen if you try to re-enter an already-active tape."
    with jt.GradientTape() as tape, pytest.raises(ValueError, match=re.escape(message)), tape:
        pass


@pytest.mark.parametrize("persistent", [False, True])
def test_g5_entering_again_resumes(persistent: bool):
    x = jt.constant(2.0)
    with jt.GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        y = x * x
    with tape:
        z = y * y
    assert tape.gradient(z, x).numpy() == 32.0


def test_g5_entering_again_after_another_step_resumes():
    x, v = jt.constant(2.0), jt.Variable(1.0)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with jt.GradientTape() as other:
        loss = v * y
    assert other.gradient(loss, v).numpy() == 4.0
    float(y)
    with tape:
        z = y * y
    assert tape.gradient(z, x).numpy() == 32.0


def test_g5_what_ran_between_is_constant():
    x = jt.constant(2.0)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    between = x * x
    with tape:
        z = y * between
    assert tape.gradient(z, x).numpy() == 16.0


def test_g6_a_used_up_tape_is_empty_when_entered_again():
    x = jt.constant(2.0)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    with tape:
        z = x * x
    with pytest.warns(UNCONNECTED, match="was not watched"):
        assert tape.gradient(z, x) is None
    with tape:
        tape.watch(x)
        z = x * x
    assert tape.gradient(z, x).numpy() == 4.0


# ---- watching --------------------------------------------------------------------------------------


def test_g7_watch_takes_nested_structures():
    x, v = jt.constant(2.0), jt.Variable(3.0, trainable=False)
    with jt.GradientTape() as tape:
        tape.watch({"x": x, "rest": [v, (jt.constant(1.0),)]})
        y = x * v
    gradients = tape.gradient(y, {"x": x, "v": v})
    assert {name: g.numpy() for name, g in gradients.items()} == {"x": 3.0, "v": 2.0}


def test_g7_watch_refuses_what_is_no_tensor():
    with jt.GradientTape() as tape:
        with pytest.raises(
            ValueError, match=r"Passed in object 3.0 of type 'float', not jt.Tensor or jt.Variable"
        ):
            tape.watch(3.0)
        with pytest.raises(ValueError, match=r"x = jt.constant\(x\)"):
            tape.watch(np.ones(3))
        with pytest.raises(ValueError, match="of type 'str'"):
            tape.watch("x")


def test_g8_watch_before_enter():
    tape = jt.GradientTape()
    with pytest.raises(RuntimeError, match="entered"):
        tape.watch(jt.constant(1.0))


def test_g9_watch_after_use_is_none_and_says_so():
    x = jt.constant(2.0)
    with jt.GradientTape() as tape:
        y = x * x
        tape.watch(x)
    with pytest.warns(UNCONNECTED, match="watched after its use in `multiply`"):
        assert tape.gradient(y, x) is None


def test_g9_watch_of_a_variable_after_use():
    v = jt.Variable(2.0)
    with jt.GradientTape(watch_accessed_variables=False, persistent=True) as tape:
        y = v * v
        tape.watch(v)
        z = v * v * v
    assert tape.gradient(z, v).numpy() == 12.0
    with pytest.warns(UNCONNECTED, match="watched after its use"):
        assert tape.gradient(y, v) is None


def test_g10_watch_of_an_integer_is_logged_five_times(caplog: Any, monkeypatch: Any):
    monkeypatch.setattr(tape_arguments._LogCount, "so_far", 0)
    n = jt.constant(3)
    with caplog.at_level(logging.WARNING, logger="jittape"), jt.GradientTape() as tape:
        for _ in range(8):
            tape.watch(n)
        y = jt.cast(n, jt.float32) * 2.0
    assert [record.getMessage() for record in caplog.records] == [
        "The dtype of the watched tensor must be floating (e.g. jt.float32), got jt.int32"
    ] * 5
    with pytest.warns(UNCONNECTED, match="int32"):
        assert tape.gradient(y, n) is None


def test_g11_trainable_variables_are_watched_when_read():
    v, fixed = jt.Variable(2.0), jt.Variable(3.0, trainable=False)
    with jt.GradientTape(persistent=True) as tape:
        y = v * fixed
    assert tape.gradient(y, v).numpy() == 3.0
    with pytest.warns(UNCONNECTED, match="not trainable"):
        assert tape.gradient(y, fixed) is None
    with jt.GradientTape() as tape:
        tape.watch(fixed)
        y = v * fixed
    assert tape.gradient(y, fixed).numpy() == 2.0


def test_g12_nothing_is_watched_by_itself_when_asked_not_to():
    v = jt.Variable(2.0)
    with jt.GradientTape(watch_accessed_variables=False) as tape:
        y = v * v
    assert tape.watched_variables() == ()
    with pytest.warns(UNCONNECTED, match="watch_accessed_variables=False"):
        assert tape.gradient(y, v) is None


def test_g13_watched_variables_in_the_order_of_construction():
    a, b, c = (
        jt.Variable(1.0, name="a"),
        jt.Variable(2.0, name="b"),
        jt.Variable(3.0, trainable=False, name="c"),
    )
    unused = jt.Variable(4.0)
    tape = jt.GradientTape()
    assert tape.watched_variables() == ()
    with tape:
        y = b * a
        tape.watch(c)
    names = [v.name for v in tape.watched_variables()]
    assert names == ["a:0", "b:0", "c:0"]
    tape.gradient(y, [a, unused], unconnected_gradients="zero")
    assert [v.name for v in tape.watched_variables()] == names


# ---- the gradient ----------------------------------------------------------------------------------


def test_g14_the_structure_of_the_sources_comes_back():
    a, b = jt.Variable(2.0), jt.Variable(3.0)
    parameters = list(inspect.signature(jt.GradientTape.gradient).parameters)
    assert parameters == ["self", "target", "sources", "output_gradients", "unconnected_gradients"]
    with jt.GradientTape(persistent=True) as tape:
        y = a * b
    assert isinstance(tape.gradient(y, [a]), list)
    assert isinstance(tape.gradient(y, (a, b)), tuple)
    nested = tape.gradient({"y": [y]}, {"a": a, "pair": (b, [a])})
    assert nested["a"].numpy() == 3.0
    assert nested["pair"][0].numpy() == 2.0
    assert nested["pair"][1][0].numpy() == 3.0


def test_g15_several_targets_and_elements_are_summed():
    tape, x = watched([1.0, 2.0, 3.0], persistent=True)
    y, z = x * x, 3.0 * x
    tape.__exit__(None, None, None)
    np.testing.assert_array_equal(tape.gradient(y, x), [2.0, 4.0, 6.0])
    np.testing.assert_array_equal(tape.gradient([y, z, y], x), [7.0, 11.0, 15.0])


def test_g16_none_as_target():
    tape, x = watched(1.0)
    message = (
        "Argument 'target' should be a list or nested structure of Tensors, Variables or CompositeTensors to be "
        "differentiated, but received None."
    )
    tape.__exit__(None, None, None)
    with pytest.raises(TypeError, match=message):
        tape.gradient(None, x)


def test_g17_no_sources_and_none_as_a_source():
    tape, x = watched(1.0, persistent=True)
    y = x * x
    tape.__exit__(None, None, None)
    assert tape.gradient(y, []) == []
    with pytest.raises(TypeError, match="a source must be a jt.Tensor or jt.Variable, got NoneType"):
        tape.gradient(y, [x, None])


def test_g18_ndarrays_as_target_or_source():
    tape, x = watched(1.0, persistent=True)
    y = x * x
    tape.__exit__(None, None, None)
    with pytest.raises(TypeError, match="the target must be a jt.Tensor .* got ndarray"):
        tape.gradient(np.ones(3), x)
    with pytest.raises(TypeError, match=r"got ndarray; make it a tensor with `x = jt.constant\(x\)`"):
        tape.gradient(y, np.ones(3))


def test_g19_the_target_is_the_source():
    tape, x = watched([1.0, 2.0], persistent=True)
    v, unread = jt.Variable(2.0), jt.Variable(5.0)
    y = v * x
    tape.__exit__(None, None, None)
    np.testing.assert_array_equal(tape.gradient(x, x), [1.0, 1.0])
    np.testing.assert_array_equal(tape.gradient(y, y), [1.0, 1.0])
    assert tape.gradient(v, v).numpy() == 1.0
    assert tape.gradient(unread, unread).numpy() == 1.0


def test_g20_an_intermediate_as_source():
    tape, x = watched(2.0, persistent=True)
    y = x * x
    z = y * y
    tape.__exit__(None, None, None)
    assert tape.gradient(z, y).numpy() == 8.0
    assert [g.numpy() for g in tape.gradient(z, [x, y])] == [32.0, 8.0]


def test_g21_second_gradient_on_a_non_persistent_tape():
    tape, x = watched(2.0)
    y = x * x
    tape.__exit__(None, None, None)
    gradient = tape.gradient(y, x)
    with pytest.raises(RuntimeError) as raised:
        tape.gradient(y, x)
    assert "GradientTape.gradient can only be called once on non-persistent tapes." in str(raised.value)
    assert (
        "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)"
        in str(raised.value)
    )
    assert gradient.numpy() == 4.0
    with pytest.raises(RuntimeError, match="only be called once"):
        tape.jacobian(y, x)


def test_g21_gradient_of_a_tape_never_entered():
    with pytest.raises(RuntimeError, match="recorded nothing"):
        jt.GradientTape().gradient(jt.constant(1.0), jt.constant(1.0))


def test_g22_gradient_inside_the_block_ends_the_recording():
    x = jt.Variable(3.0)
    with jt.GradientTape() as tape:
        y = x * x
        with pytest.warns(jt.TapeUsageWarning, match="ends its recording") as caught:
            gradient = tape.gradient(y, x)
        with jt.GradientTape() as inner:
            z = x * x
        assert inner.gradient(z, x).numpy() == 6.0
    assert gradient.numpy() == 6.0
    assert caught[0].filename == __file__


def test_g23_gradient_inside_a_persistent_block_is_recorded():
    x = jt.Variable(3.0)
    with warnings.catch_warnings(), jt.GradientTape(persistent=True) as tape:
        warnings.simplefilter("error")
        y = x**3
        dy = tape.gradient(y, x)
        d2y = tape.gradient(dy, x)
    assert [t.numpy() for t in (dy, d2y, tape.gradient(d2y, x))] == [27.0, 18.0, 6.0]


def test_g24_output_gradients():
    tape, x = watched([1.0, 2.0], persistent=True)
    y, z = x * x, jt.reduce_sum(x)
    tape.__exit__(None, None, None)
    np.testing.assert_array_equal(tape.gradient(y, x, output_gradients=[10.0, 1.0]), [20.0, 4.0])
    np.testing.assert_array_equal(tape.gradient(y, x, output_gradients=jt.constant([10.0, 1.0])), [20.0, 4.0])
    np.testing.assert_array_equal(
        tape.gradient([y], x, output_gradients=[jt.constant([1.0, 0.0])]), [2.0, 0.0]
    )
    np.testing.assert_array_equal(tape.gradient([y, z], x, output_gradients=[None, 5.0]), [7.0, 9.0])


@pytest.mark.parametrize(
    ("target", "given"),
    [
        (lambda y, z: [y, ()], lambda dy: [dy, ()]),
        (lambda y, z: [(), y], lambda dy: [dy]),
        (lambda y, z: {"a": y, "b": (z, {})}, lambda dy: {"a": dy, "b": (0.0, {})}),
        (lambda y, z: [y, [z, z]], lambda dy: [dy, [0.0, 0.0]]),
        (lambda y, z: [y, [z, z]], lambda dy: (dy, 0.0, 0.0)),
    ],
)
def test_g24_output_gradients_of_nested_targets(target: Any, given: Any):
    tape, x = watched([1.0, 2.0], persistent=True)
    y, z = x * x, jt.reduce_sum(x)
    tape.__exit__(None, None, None)
    for dy in (jt.constant([10.0, 1.0]), [10.0, 1.0]):
        np.testing.assert_array_equal(tape.gradient(target(y, z), x, given(dy)), [20.0, 4.0])
    with pytest.raises(ValueError, match="structure"):
        tape.gradient({"a": y, "b": z}, x, {"a": 1.0, "c": 1.0})


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([jt.constant([1.0, 2.0])], ValueError, "1 entries for 2 targets"),
        ([jt.constant([1.0, 2.0, 3.0]), None], ValueError, r"\[0\] has shape \(3,\), its target \(2,\)"),
        ([None, np.ones((), np.float64)], TypeError, r"\[1\] has dtype float64, its target float32"),
    ],
)
def test_g24_output_gradients_that_do_not_fit(given: Any, error: type[Exception], message: str):
    tape, x = watched([1.0, 2.0])
    y, z = x * x, jt.reduce_sum(x)
    tape.__exit__(None, None, None)
    with pytest.raises(error, match=message):
        tape.gradient([y, z], x, output_gradients=given)
    np.testing.assert_array_equal(tape.gradient([y, z], x), [3.0, 5.0])


@pytest.mark.parametrize("choice", ["zero", jt.UnconnectedGradients.ZERO])
def test_g25_zeros_where_unconnected(choice: Any):
    tape, x = watched([1.0, 2.0], persistent=True)
    other = jt.constant([[1.0, 2.0]])
    y = x * x
    tape.__exit__(None, None, None)
    dx, zeros = tape.gradient(y, [x, other], unconnected_gradients=choice)
    np.testing.assert_array_equal(dx, [2.0, 4.0])
    np.testing.assert_array_equal(zeros, [[0.0, 0.0]])
    assert zeros.dtype == jt.float32
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients: 'foo'"):
        tape.gradient(y, x, unconnected_gradients="foo")
    for none in ("none", jt.UnconnectedGradients.NONE):
        with pytest.warns(UNCONNECTED):
            assert tape.gradient(y, other, unconnected_gradients=none) is None


@pytest.mark.parametrize("watches", [False, True])
def test_a_tape_that_a_pause_has_used_up_goes_on_empty(watches):
    x, v = jt.constant(3.0), jt.Variable(2.0)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            assert float(tape.gradient(y, x)) == 6.0
            with pytest.raises(RuntimeError, match="only be called once"):
                tape.gradient(y, x)
        if watches:
            tape.watch(x)
        z = x**3 * v
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jt.UnconnectedGradientWarning)
        by_x, by_v = tape.gradient(z, [x, v])
    assert (by_x is None, float(by_v)) == (not watches, 27.0)
    if watches:
        assert float(by_x) == 54.0


def failing_product(x):
    @jt.custom_gradient
    def product(x):
        def gradient(upstream):
            raise RuntimeError("no gradient today")

        return x * 2.0, gradient

    return product(x)


@pytest.mark.filterwarnings("ignore::jittape.TapeUsageWarning")
@pytest.mark.parametrize("place", ["recording", "paused", "left"])
@pytest.mark.parametrize(
    "call",
    [
        lambda tape, y, x: tape.gradient(None, x),
        lambda tape, y, x: tape.gradient(y, "a"),
        lambda tape, y, x: tape.gradient(y, x, output_gradients=jt.ones([2])),
        lambda tape, y, x: tape.gradient(y, x, unconnected_gradients="foo"),
        lambda tape, y, x: tape.jacobian(y, "a"),
        lambda tape, y, x: tape.batch_jacobian(y, x),
    ],
)
def test_an_error_of_gradient_leaves_the_tape_as_it_was(call, place):
    def fail():
        with pytest.raises((TypeError, ValueError)):
            call(tape, y, x)

    x = jt.constant(3.0)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        if place == "recording":
            fail()
        elif place == "paused":
            with tape.stop_recording():
                fail()
    if place == "left":
        fail()
    assert float(tape.gradient(y, x)) == 6.0


def test_a_custom_gradient_that_fails_leaves_the_tape_as_it_was():
    x = jt.constant(3.0)
    with jt.GradientTape() as tape:
        tape.watch(x)
        y, z = x * x, failing_product(x)
    with pytest.raises(RuntimeError, match="no gradient today"):
        tape.gradient(z, x)
    assert float(tape.gradient(y, x)) == 6.0
