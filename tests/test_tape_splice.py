"""Tapes that go on inside tapes that began later: entered again (row G5), or asked for a gradient."""

import numpy as np
import pytest

import jittape as jt
from jittape.errors import UnconnectedGradientWarning
from jittape.recording.trie import trie

LATER_WAYS = [lambda: jt.GradientTape(), lambda: jt.GradientTape(persistent=True)]


@pytest.fixture(params=["interpreted", "compiled"])
def times(request):
    """So often that the last time runs as named."""
    return 1 if request.param == "interpreted" else 3


def repeat(times, program):
    for _ in range(times):
        result = program()
    return result


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("later", LATER_WAYS)
def test_an_older_tape_goes_on_inside_a_later_one(persistent, later, times):
    def program():
        x = jt.constant(2.0)
        with jt.GradientTape(persistent=persistent) as older:
            older.watch(x)
            y = x * x
        with later(), older:
            z = y * y
        return older.gradient(z, x).numpy()

    assert repeat(times, program) == 32.0


def test_both_tapes_see_what_is_recorded_in_both(times):
    def program():
        x, u = jt.constant(2.0), jt.constant(5.0)
        with jt.GradientTape() as older:
            older.watch(x)
            y = x * x
        with jt.GradientTape() as later:
            later.watch(u)
            v = u * u
            with older:
                z = y * v
        return older.gradient(z, [x, u]), later.gradient(z, [u, x])

    with pytest.warns(UnconnectedGradientWarning):
        (x_older, u_older), (u_later, x_later) = repeat(times, program)
    assert (x_older.numpy(), u_older) == (100.0, None)
    assert (u_later.numpy(), x_later) == (40.0, None)


def test_the_later_tape_has_not_seen_what_the_older_did_before(times):
    def program():
        x = jt.constant(2.0)
        with jt.GradientTape() as older:
            older.watch(x)
            y = x * x
        with jt.GradientTape() as later:
            later.watch(x)
            with older:
                z = y * x
        return older.gradient(z, x).numpy(), later.gradient(z, x).numpy()

    assert repeat(times, program) == (12.0, 4.0)


def test_a_result_that_the_later_tape_watches(times):
    """It has a place in the later tape's recording before the older one's ops come along, and another one after."""

    def program():
        x = jt.constant(2.0)
        with jt.GradientTape() as older:
            older.watch(x)
            y = x * x
        with jt.GradientTape(persistent=True) as later:
            later.watch(y)
            before = 3.0 * y
            with older:
                after = y * before
        of_both = later.gradient([before, after], y)
        return older.gradient(after, x).numpy(), later.gradient(after, y).numpy(), of_both.numpy()

    # y = 4; after = 3 y², of which the older tape has seen one factor depend on x.
    assert repeat(times, program) == (12.0 * 4.0, 24.0, 27.0)


def test_values_between_are_constant(times):
    def program():
        x = jt.constant(2.0)
        with jt.GradientTape() as older:
            older.watch(x)
            y = x * x
        with jt.GradientTape():
            between = x * x
            with older:
                z = y * between
        return older.gradient(z, x).numpy()

    assert repeat(times, program) == 16.0


def test_variables_read_before_and_after(times):
    def program():
        v = jt.Variable(3.0)
        with jt.GradientTape() as older:
            y = v * v
        v.assign(5.0)
        with jt.GradientTape() as later, older:
            z = y * v
        gradients = older.gradient(z, v).numpy(), later.gradient(z, v).numpy()
        assert [w.ref() for w in older.watched_variables()] == [v.ref()]
        return gradients

    # y v with y = v² read as 3: d/dv is 2·3·5 by the first value and y = 9 by the second.
    assert repeat(times, program) == (39.0, 9.0)


def test_a_variable_assigned_in_the_older_block(times):
    def program():
        v = jt.Variable(3.0)
        with jt.GradientTape() as older:
            v.assign(2.0 * v)
            y = v * v
        with jt.GradientTape(), older:
            z = 2.0 * y
        return older.gradient(z, v).numpy(), v.numpy()

    assert repeat(times, program) == (24.0, 6.0)


def test_several_old_tapes_inside_one(times):
    def program():
        x = jt.constant(2.0)
        with jt.GradientTape() as first:
            first.watch(x)
            y = x * x
        with jt.GradientTape() as second:
            second.watch(x)
            w = 3.0 * x
        with jt.GradientTape() as last:
            last.watch(x)
            with first, second:
                z = y * w * x
        return [tape.gradient(z, x).numpy() for tape in (first, second, last)]

    assert repeat(times, program) == [4.0 * 6.0 * 2.0 + 24.0, 3.0 * 8.0 + 24.0, 24.0]


def test_tapes_of_one_old_block_part(times):
    """Two tapes on one trace; only one goes on elsewhere, the other keeps what it has."""

    def program():
        x = jt.constant(2.0)
        with jt.GradientTape() as a, jt.GradientTape() as b:
            a.watch(x)
            b.watch(x)
            y = x * x
        with jt.GradientTape(), a:
            z = y * y
        return a.gradient(z, x).numpy(), b.gradient(y, x).numpy()

    assert repeat(times, program) == (32.0, 4.0)


def test_going_on_twice(times):
    def program():
        x = jt.constant(2.0)
        with jt.GradientTape() as older:
            older.watch(x)
            y = x * x
        with jt.GradientTape(), older:
            y = y * x
        with jt.GradientTape(), older:
            y = y * x
        return older.gradient(y, x).numpy()

    assert repeat(times, program) == 32.0


def test_vectors_matrices_and_random_sequences():
    """Any sequence of entering and leaving gives what one tape around everything gives."""
    rng = np.random.default_rng(7)
    for _ in range(20):
        x = jt.constant(rng.normal(size=3))
        matrices = [jt.constant(rng.normal(size=(3, 3))) for _ in range(4)]
        older = jt.GradientTape()
        y = None
        for matrix in matrices:
            inside = rng.integers(2)
            with jt.GradientTape() if inside else older, older if inside else jt.GradientTape():
                if y is None:
                    older.watch(x)
                    y = x
                y = jt.tanh(jt.linalg.matvec(matrix, y))
        gradient = older.gradient(y, x)
        with jt.GradientTape() as tape:
            tape.watch(x)
            expected = x
            for matrix in matrices:
                expected = jt.tanh(jt.linalg.matvec(matrix, expected))
        np.testing.assert_allclose(gradient, tape.gradient(expected, x), rtol=1e-12)


# ---- gradients inside a later tape ---------------------------------------------------------------------------------


def test_a_gradient_asked_for_inside_a_later_tape_is_recorded_there(times):
    def program():
        x = jt.constant(3.0)
        with jt.GradientTape(persistent=True) as older:
            older.watch(x)
            y = x * x * x
        with jt.GradientTape() as later:
            later.watch(x)
            g = older.gradient(y, x)
        return g.numpy(), later.gradient(g, x).numpy()

    # What `g` is computed with are x and x², the second of which the later tape has not seen computed.
    assert repeat(times, program) == (27.0, 12.0)


def test_values_that_variables_had_are_constant_to_the_later_tape(times):
    def program():
        v = jt.Variable(3.0)
        with jt.GradientTape(persistent=True) as older:
            y = v * v
        with jt.GradientTape() as later:
            g = older.gradient(y, v)
            h = g * v
        return g.numpy(), later.gradient(h, v).numpy()

    assert repeat(times, program) == (6.0, 6.0)


def test_a_jacobian_inside_a_later_tape(times):
    def program():
        x, s = jt.constant([1.0, 2.0]), jt.constant(3.0)
        with jt.GradientTape() as older:
            older.watch(x)
            y = x * x
        with jt.GradientTape() as later:
            later.watch(s)
            z = jt.reduce_sum(s * older.jacobian(y, x))
        return later.gradient(z, s).numpy()

    assert repeat(times, program) == 6.0


def test_a_custom_gradient_goes_along(times):
    @jt.custom_gradient
    def double(x):
        return 2.0 * x, lambda g: 5.0 * g

    def program():
        x = jt.constant(3.0)
        with jt.GradientTape() as older:
            older.watch(x)
            y = double(x)
        with jt.GradientTape(), older:
            z = y * y
        return older.gradient(z, x).numpy()

    assert repeat(times, program) == 60.0


def test_a_loop_that_asks_an_old_tape_grows_nothing():
    x, s = jt.constant(2.0), jt.Variable(3.0)
    with jt.GradientTape(persistent=True) as older:
        older.watch(x)
        y = x * x

    def step():
        with jt.GradientTape() as tape:
            loss = s * older.gradient(y, x)
        assert tape.gradient(loss, s).numpy() == 4.0

    for _ in range(3):
        step()
    nodes, compiled = trie.n_nodes, jt.stats().programs
    for _ in range(10):
        step()
    assert (trie.n_nodes, jt.stats().programs) == (nodes, compiled)


def test_an_exception_inside_leaves_both_tapes_usable():
    x = jt.constant(2.0)
    with jt.GradientTape() as older:
        older.watch(x)
        y = x * x
    with pytest.raises(ValueError, match="broadcast"), jt.GradientTape() as later:
        later.watch(x)
        w = 3.0 * x
        with older:
            z = y * y
            jt.constant([1.0, 2.0]) + jt.constant([1.0, 2.0, 3.0])
    assert older.gradient(z, x).numpy() == 32.0
    assert later.gradient(w, x).numpy() == 3.0


def test_left_out_of_order():
    x = jt.constant(2.0)
    with jt.GradientTape() as older:
        older.watch(x)
        y = x * x
    later = jt.GradientTape()
    later.__enter__()
    later.watch(x)
    older.__enter__()
    z = y * x
    later.__exit__(None, None, None)
    u = z * x
    older.__exit__(None, None, None)
    assert older.gradient(u, x).numpy() == 32.0
    assert later.gradient(z, x).numpy() == 4.0
