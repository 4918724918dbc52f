"""Writing to a part of a tensor: values, gradients, no aliasing."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp
from jittape.runtime.counters import counters


def test_writing_to_a_part(mode):
    for _ in range(2):
        t = jt.constant(np.arange(6.0).reshape(2, 3)) * 1.0
        a = np.arange(6.0).reshape(2, 3)
        keys = [(0, 0), (slice(None), 1), -1, (0, [2, 0]), a > 3, ..., (None, 1, 2)]
        for number, key in enumerate(keys):
            t[key] = number + 0.5
            a[key] = number + 0.5
            np.testing.assert_array_equal(t.numpy(), a)
        t[0] += 1.0
        t[:, 0] *= [2.0, 3.0]
        a[0] += 1.0
        a[:, 0] *= [2.0, 3.0]
        np.testing.assert_array_equal(t.numpy(), a)


def test_writing_is_differentiable(mode):
    for _ in range(2):
        x, w = jt.constant([1.0, 2.0, 3.0]), jt.Variable(5.0)
        with jt.GradientTape(persistent=True) as tape:
            tape.watch(x)
            t = x * 2.0
            before = jt.reduce_sum(t)
            t[1] = w * w
            y = jt.reduce_sum(t * t)
        assert t.tolist() == [2.0, 25.0, 6.0]
        assert tape.gradient(y, x).tolist() == [8.0, 0.0, 24.0]
        assert float(tape.gradient(y, w)) == 2 * 25.0 * 10.0
        assert tape.gradient(before, x).tolist() == [2.0, 2.0, 2.0]


def test_writing_a_list_of_tensors():
    x = jt.Variable(3.0)
    with jt.GradientTape() as tape:
        t = jt.zeros([2, 2])
        t[0] = [x * x, 1.0]
        t[:, 1] = (x, x)
        y = jt.reduce_sum(t)
    assert t.tolist() == [[9.0, 3.0], [0.0, 3.0]]
    assert float(tape.gradient(y, x)) == 8.0
    exact = jt.zeros([2], "float64")
    exact[:] = [0.1, 0.2]
    assert exact.tolist() == [0.1, 0.2]


def test_a_handle_written_to_again_and_again_is_computed_once(mode):
    for _ in range(3):
        t = jt.zeros([5])
        for i in range(5):
            t[i] = i
        assert t.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
        forgotten = jt.zeros([5])
        for i in range(5):
            forgotten[i] = i
        del forgotten
        u = jt.constant(1.0) + 1.0
        assert float(u) == 2.0
        assert len(counters.last.program.outputs) == 1


def test_the_handle_is_a_source_by_the_value_that_was_watched():
    t = jt.constant([1.0, 2.0])
    with jt.GradientTape() as tape:
        tape.watch(t)
        t[0] = 9.0
        y = jt.reduce_sum(t * t)
    assert tape.gradient(y, t).tolist() == [0.0, 4.0]


def test_writing_after_a_look_inside_a_tape(mode):
    for _ in range(3):
        x = jt.constant([1.0, 2.0, 3.0])
        with jt.GradientTape() as tape:
            tape.watch(x)
            t = x * 2.0
            assert t.tolist() == [2.0, 4.0, 6.0]
            t[0] = 1.0
            assert t.tolist() == [1.0, 4.0, 6.0]
            assert float(jt.reduce_sum(t)) == 11.0
            t[1] = 1.0
            y = jt.reduce_sum(t * t)
            assert float(y) == 38.0
        assert tape.gradient(y, x).tolist() == [0.0, 0.0, 24.0]


def test_tensors_do_not_alias():
    t = jt.constant([1.0, 2.0])
    others = [
        jt.identity(t),
        jt.reshape(t, [2]),
        jt.cast(t, jt.float32),
        jt.constant(t),
        copy.copy(t),
        t[:],
        t[0:1],
    ]
    array = t.numpy()
    doubled = t * 2.0
    t[0] = 7.0
    assert t.tolist() == [7.0, 2.0]
    assert [u.tolist()[0] for u in others] == [1.0] * 7
    assert array.tolist() == [1.0, 2.0]
    assert doubled.tolist() == [2.0, 4.0]
    others[1][1] = 8.0
    assert t.tolist() == [7.0, 2.0]


def test_a_part_of_a_tensor_is_a_value():
    t = jt.constant([[1.0, 2.0], [3.0, 4.0]])
    row = t[0]
    row[0] = 9.0
    assert t.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_write_to_a_copy_that_nobody_holds_is_refused(mode):
    """NumPy writes through the view; here it would be lost."""
    t, v = jt.constant([[1.0, 2.0], [3.0, 4.0]]), jt.Variable([[1.0, 2.0], [3.0, 4.0]])
    for _ in range(3):
        with pytest.raises(TypeError, match=r"x\[i, j\] = value"):
            t[0][1] = 9.0
        with pytest.raises(TypeError, match="no effect"):
            v[0][1] += 9.0
        with pytest.raises(TypeError, match="no effect"):
            jt.transpose(t)[0] = 9.0
    assert t.tolist() == v.numpy().tolist() == [[1.0, 2.0], [3.0, 4.0]]
    rows, held = [t[0], t[1]], {"row": t[0]}
    rows[0][1] = held["row"][1] = 9.0

    def written(row):
        row[0] = 7.0
        return row

    @jt.function
    def traced(x):
        with pytest.raises(TypeError, match="no effect"):
            x[0][1] = 9.0
        y = x * 2.0
        y[0] = 7.0
        return y

    assert traced(t).tolist() == [[7.0, 7.0], [6.0, 8.0]]
    assert [row.tolist() for row in (*rows, held["row"], written(t[0]))] == [[1, 9], [3, 4], [1, 9], [7, 2]]
    assert t.tolist() == [[1.0, 2.0], [3.0, 4.0]]


LOST = (
    "np.add(np.ones(4), z[1], out=z[0])",
    "np.add(np.ones(4), z[1], z[0])",
    "np.add(1.0, 1.0, out=z[0])",
    "np.add(1.0, 1.0, out=(z[1:],))",
    "np.modf(z[0], out=(z[1], z[2]))",
    "np.add.reduce(z, axis=0, out=z[0])",
    "np.sum(z, axis=0, out=z[0])",
    "np.dot(z, np.eye(4), out=z.T)",
    "np.concatenate([z[:1], z[1:]], out=z[:])",
    "np.median(z, axis=0, out=z[0])",
    "np.copyto(z[0], 1.0)",
    "np.put(z[0], [0], 5.0)",
    "np.place(z[0], z[0] > 1, 5.0)",
    "np.putmask(z[0], z[0] > 1, 5.0)",
    "np.put_along_axis(z[0], np.array([1]), 5.0, 0)",
    "np.fill_diagonal(z[:, :3], 5.0)",
    "np.add.at(z[0], [0], 5.0)",
    "z.sum(axis=0, out=z[0])",
    "z.cumsum(0, None, z[:])",
    "z.clip(0, 1, out=z[:])",
    "z[0].sort()",
    "z[0].fill(1.0)",
    "z[0].flat[1] = 5.0",
    "z[0].flat = 5.0",
    "z.T[0] = 5.0",
    "z.reshape(-1)[0] += 5.0",
    "np.ravel(z)[0] = 5.0",
    "for row in z: row[0] = 1.0",
    "for row in z: row.fill(1.0)",
    "for row, other in zip(z, z): np.add(other, 1.0, out=row)",
    "for i, row in enumerate(z): row[...] = i",
    "for x in z.flat: x[...] = 1.0",
    "first, *rest = z; first[0] = 1.0",
    "list(z)[0][0] = 1.0",
)
"""Statements that write to `z` in NumPy."""


@pytest.mark.parametrize("namespace", [np, jnp], ids=["numpy", "jittape.numpy"])
@pytest.mark.parametrize("statement", LOST)
def test_writes_through_functions_are_never_lost(statement, namespace, mode):
    code = compile(statement, "<statement>", "exec")
    for made in (lambda a: jt.constant(a), lambda a: jt.constant(a) * 1.0, jt.Variable):
        z = made(np.arange(12.0).reshape(3, 4))
        with pytest.raises(TypeError, match=r"z\[i|z\[0\] = result|no effect|would write into"):
            exec(code, {"np": namespace, "z": z})
        assert z.numpy().tolist() == np.arange(12.0).reshape(3, 4).tolist()


@pytest.mark.parametrize("part", ["real", "imag", "T.real", "real[:1]"])
def test_writes_to_parts_of_complex_numbers_are_never_lost(part, mode):
    code = compile(f"np.add(1.0, 1.0, out=z.{part})", "<statement>", "exec")
    for made in (lambda a: jt.constant(a), lambda a: jt.constant(a) * 1.0):
        z = made(np.array([[1 + 2j, 3 - 1j]]))
        with pytest.raises(TypeError, match=r"z\[0\] = result"):
            exec(code, {"np": np, "z": z})


@pytest.mark.parametrize("namespace", [np, jnp], ids=["numpy", "jittape.numpy"])
def test_writes_through_functions_reach_tensors_with_a_name(namespace, mode):
    class Holder:
        pass

    def held(**kwargs):
        return namespace.add(x, 1.0, **kwargs)

    holder, shelf, state = Holder(), [jt.zeros(2)], jt.Variable([0.0, 0.0])
    for x in (jt.constant([1.0, 2.0]), jt.constant([1.0, 2.0]) * 1.0):
        a, b, holder.part = jt.zeros(2), jt.zeros([2, 2])[0], jt.zeros([2, 2])[1]
        for out in (a, b, holder.part, shelf[0], state):
            out[...] = 0.0
            assert namespace.add(x, 1.0, out=out) is out
            namespace.add(out, 1.0, out)
            namespace.add(1.0, out, out=(out,))
            namespace.add.accumulate(out, out=out)
            assert out.numpy().tolist() == [4.0, 9.0]
        namespace.modf(x, out=(a, state))
        namespace.modf(x.numpy(), out=(state, b))
        namespace.modf(x.numpy(), out=(a, b))
        namespace.add(state, x, out=a)
        namespace.sum(namespace.stack([state, x]), axis=0, out=b)
        for out in (a, b):
            pair = (out,)
            namespace.cumsum(x, out=out)
            namespace.negative(out, out=pair)
            x.round(0, out)
            out.sort()
            out.flat[0] = 7.0
            assert held(out=out) is out
            assert out.numpy().tolist() == [2.0, 3.0]
        for result in (
            namespace.add(x, 1.0, out=jnp.empty(2, "float32")),
            namespace.add(x, 1.0, out=jnp.zeros_like(x)),
            namespace.add(x, 1.0, out=x.copy()),
            namespace.add(x, 1.0, out=np.copy(x)),
            namespace.add(x, 1.0, out=x * 0),
            namespace.add(x, 1.0, out=(namespace.ones_like(x) * np.nan,)),
            namespace.sum(namespace.stack([x, x * 0 + 1.0]), axis=0, out=-x),
            namespace.add(x, 1.0, out=namespace.where(x > 1.0, x, 0.0)),
            (x * 0 + 1.0).cumsum(out=namespace.sqrt(x)) + 1.0,
        ):
            assert result.tolist() == [2.0, 3.0]
    with pytest.raises(TypeError, match=r"z\[0\] = result"):
        jnp.random.default_rng(0).shuffle(jt.zeros([2, 2])[0])
    for row in list(map(jt.identity, jt.zeros([2, 2]))):
        row[0] = 1.0
        assert row.tolist() == [1.0, 0.0]


def test_flat_elements_can_be_read_and_written(mode):
    x = jt.constant([[1.0, 2.0], [3.0, 4.0]])

    def f(x):
        y = x * 1.0
        y.flat[1:3] = [5.0, x.flat[3] * 2.0]
        return jt.reduce_sum(y * y)

    assert jt.grad(f)(x).tolist() == [[2.0, 0.0], [0.0, 8.0 + 32.0]]
    a, z = x.numpy().copy(), x * 1.0
    for value in (a, z):
        value.flat[2] = 9.0
        value.flat[[0, 3]] = [-1.0, -2.0]
    assert z.tolist() == a.tolist()
    assert len(z.flat) == 4
    assert [float(e) for e in z.flat] == a.ravel().tolist()
    np.testing.assert_array_equal(np.asarray(z.flat), a.ravel())
    z.flat = 3.0
    assert z.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    with pytest.raises(IndexError):
        z.flat[4] = 1.0


def test_results_that_are_their_argument(mode):
    """Reshaping to the same shape and casting to the same dtype compute nothing."""
    for _ in range(3):
        x = jt.constant([1.0, 2.0, 3.0])
        with jt.GradientTape() as tape:
            tape.watch(x)
            a, b, c = jt.reshape(x, (3,)), jt.cast(x, jt.float32), x * 2.0
            d, e = jt.reshape(c, (3,)), copy.copy(c)
            assert [t.tolist() for t in (a, b, c, d, e)] == [[1.0, 2.0, 3.0]] * 2 + [[2.0, 4.0, 6.0]] * 3
            y = jt.reduce_sum(a * b * c * d * e)
            assert float(y) == 8.0 * (1 + 32 + 243)
        assert tape.gradient(y, x).tolist() == [40.0, 640.0, 3240.0]


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        (5, 1.0, IndexError),
        ((0, 0), 1.0, IndexError),
        ("a", 1.0, IndexError),
        (0, [1.0, 2.0], ValueError),
        (0, 1j, TypeError),
        (slice(None), np.ones(3, np.float32), ValueError),
        (0, "text", TypeError),
    ],
)
def test_a_failing_write_changes_nothing(key, value, error):
    t = jt.constant([1.0, 2.0])
    with pytest.raises(error):
        t[key] = value
    assert t.tolist() == [1.0, 2.0]
    t[0] = 3.0
    assert t.tolist() == [3.0, 2.0]


def test_integers_take_no_floats():
    t = jt.constant([1, 2])
    with pytest.raises(TypeError, match="cast"):
        t[0] = 1.5
    t[0] = 5
    assert t.tolist() == [5, 2]


def test_a_tensor_has_no_assign():
    with pytest.raises(AttributeError, match=r"t\[0\] = 1.0"):
        jt.constant(1.0).assign(2.0)
