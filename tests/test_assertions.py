"""`jt.debugging`: assertions, eagerly, in compiled functions, loops and branches, and in gradients.

The first lines of the messages are those of TensorFlow 2.21, which names no positions if a shape is broadcast.
"""

from __future__ import annotations

import numpy as np
import pytest

import jittape as jt

D = jt.debugging
INVALID = jt.errors.InvalidArgumentError


# ---- values ----------------------------------------------------------------------------------------------------------

HOLD = [
    lambda: D.assert_equal([1, 2], [1, 2]),
    lambda: D.assert_equal((2, 3), jt.constant([2, 3])),
    lambda: D.assert_equal(jt.ones((2, 3)).shape, (2, 3)),
    lambda: D.assert_equal(jt.constant(0.1, jt.float64), 0.1),
    lambda: D.assert_none_equal([1, 2], [2, 1]),
    lambda: D.assert_less([1, 2], 3),
    lambda: D.assert_less([], [1.0]),
    lambda: D.assert_less_equal([1, 2], 2),
    lambda: D.assert_greater(jt.Variable([1.0, 2.0]), 0.5),
    lambda: D.assert_greater_equal(np.array([1, 2]), 1),
    lambda: D.assert_positive([1.0, 0.5]),
    lambda: D.assert_positive([]),
    lambda: D.assert_negative(-1),
    lambda: D.assert_non_negative([0, 1]),
    lambda: D.assert_non_positive([0.0, -1.0]),
    lambda: D.assert_near([1.0, 2.0], [1.0, 2.000001]),
    lambda: D.assert_near(np.float64(1.0), 1.0 + 1e-15),
    lambda: D.assert_near([1.0], [1.5], atol=0.6),
    lambda: D.assert_near([10.0], [11.0], rtol=0.1),
    lambda: D.assert_near([1 + 1j], [1 + 1j]),
    lambda: D.Assert([True, True], [1]),
    lambda: D.Assert(1, ["text", 3]),
    lambda: jt.Assert(True, []),
]


@pytest.mark.parametrize("assertion", HOLD)
def test_what_holds(assertion):
    assert assertion() is None


FAIL = [
    (lambda: D.assert_equal([1, 2], [1, 3]), "Condition x == y did not hold.", "[[1]]\n", "[2]\n", "[3]\n"),
    (lambda: D.assert_equal(np.nan, jt.constant(np.nan)), "Condition x == y did not hold.", "[nan]"),
    (lambda: D.assert_equal([[1, 2], [3, 4]], [[1, 2], [3, 5]]), "Condition x == y", "[[1 1]]", "[1 2 3]"),
    (lambda: D.assert_none_equal([1, 2], [1, 3]), "Condition x != y did not hold.", "[[0]]"),
    (
        lambda: D.assert_less([1.0, 3.0], [2.0, 2.0], "m", summarize=1),
        "m\nCondition x < y",
        "First 1 elements",
    ),
    (
        lambda: D.assert_less(list(range(30)), 5),
        "Condition x < y did not hold.",
        "[[5]\n [6]\n [7]]",
        "[0 1 2]",
    ),
    (lambda: D.assert_less(list(range(9)), 5, summarize=-1), "Condition x < y", "[0 1 2 3 4 5 6 7 8]"),
    (lambda: D.assert_less_equal([1.0, 3.0], 2.0), "Condition x <= y did not hold.", "[[1]]"),
    (lambda: D.assert_greater(1, 2), "Condition x > y did not hold.", "[1]", "[2]"),
    (lambda: D.assert_greater_equal([1.0, 3.0], 2.0), "Condition x >= y did not hold.", "[[0]]"),
    (lambda: D.assert_positive([1.0, 0.0]), "Condition x > 0 did not hold element-wise", "it is 0.0 at [1]"),
    (lambda: D.assert_positive(jt.constant(np.nan)), "Condition x > 0 did not hold", "nan"),
    (
        lambda: D.assert_negative([-1.0, 0.0]),
        "Condition x < 0 did not hold element-wise",
        "shape=(2,) dtype=float32",
    ),
    (lambda: D.assert_non_negative([[1.0], [-1.0]]), "Condition x >= 0 did not hold", "it is -1.0 at [1, 0]"),
    (lambda: D.assert_non_positive(3, "m"), "m\nCondition x <= 0 did not hold", "it is 3\n"),
    (
        lambda: D.assert_near([1.0, 2.0], [1.0, 2.00001]),
        "x and y not equal to tolerance rtol = 1.19",
        "[[1]]",
    ),
    (lambda: D.assert_near(np.float64(1.0), 1.0 + 1e-8), "x and y not equal to tolerance rtol = 2.22"),
    (lambda: D.assert_near([np.nan], [np.nan]), "x and y not equal"),
    (
        lambda: D.Assert(False, [1, jt.range(5.0)]),
        "Expected 'False' to be true. Summarized data: 1\n0.0, 1.0, 2.0, ...",
    ),
    (lambda: D.Assert(False, ["hello", 3]), "Expected 'False' to be true. Summarized data: hello\n3"),
    (
        lambda: D.Assert([True, False], [jt.range(3)], summarize=2),
        "Expected '[ True False]' to be true",
        "0, 1, ...",
    ),
]


@pytest.mark.parametrize("case", FAIL)
def test_what_does_not_hold(case):
    assertion, start, *parts = case
    with pytest.raises(INVALID) as error:
        assertion()
    assert str(error.value).startswith(start)
    for part in parts:
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("assertion", "kind", "text"),
    [
        (
            lambda: D.assert_equal([1, 2, 3], [1, 2]),
            jt.ShapeError,
            r"shapes \(3,\) and \(2,\) do not broadcast",
        ),
        (lambda: D.assert_near([1, 2], [1, 2]), jt.DTypeError, "use assert_equal"),
        (lambda: D.Assert(False, 3), TypeError, "values must be a sequence"),
        (lambda: D.assert_all_finite([1, 2], "m"), jt.DTypeError, "assert_all_finite"),
        (lambda: D.assert_all_finite([1.0, np.nan], "m"), jt.NumericsError, "m : Tensor had NaN values"),
    ],
)
def test_arguments(assertion, kind, text):
    with pytest.raises(kind, match=text):
        assertion()


def test_finite_values_are_returned():
    assert D.assert_all_finite([1.0, 2.0], "m").tolist() == [1.0, 2.0]


# ---- where assertions run --------------------------------------------------------------------------------------------


def runs(call, good, bad, wanted, text):
    """Interpreted and compiled, `call` returns `wanted` for `good`, and raises an error for `bad`."""
    for _ in range(3):
        np.testing.assert_allclose(np.asarray(call(good)), wanted, rtol=1e-6)
        with pytest.raises(INVALID, match=text):
            np.asarray(call(bad))


def test_in_a_function():
    @jt.function
    def f(x, n):
        D.assert_positive(x, "weights")
        D.assert_less(n, 5)
        D.assert_rank(x, 1)
        return x + 1.0

    runs(
        lambda x: f(x, 3),
        jt.constant([1.0, 2.0]),
        jt.constant([1.0, -2.0]),
        [2.0, 3.0],
        r"weights\n.*-2.0 at \[1\]",
    )
    runs(lambda n: f(jt.constant([1.0]), n), 4, 7, [2.0], r"(?s)x < y.*\[7\]\n.*\[5\]")


def test_in_a_function_without_results():
    @jt.function
    def f(x):
        D.assert_positive(x)

    for _ in range(3):
        f(jt.constant(1.0))
        with pytest.raises(INVALID, match="Condition x > 0") as error:
            f(jt.constant(-1.0))
        assert "test_assertions.py" in "".join(error.value.__notes__)


def test_a_failed_call_assigns_nothing():
    v = jt.Variable(0.0)

    @jt.function
    def f(x):
        v.assign_add(x)
        D.assert_less(v, 10.0)
        return v.value()

    for calls in range(1, 5):
        f(jt.constant(1.0))
        with pytest.raises(INVALID):
            f(jt.constant(100.0))
        assert float(v) == calls


def test_constants_of_a_function_are_checked_while_it_is_traced():
    @jt.function
    def f(x):
        D.assert_equal(x.shape, (2,))
        D.assert_less(1, 2)
        return x

    assert f(jt.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(INVALID):
        f(jt.ones(3))


def doubled(x):
    return jt.while_loop(lambda i, a: i < 5, _double, (0, x))[1]


def _double(i, a):
    D.assert_less(a, 50.0, "too big")
    return i + 1, a * 2.0


def test_in_a_loop():
    runs(doubled, jt.constant(1.0), jt.constant(10.0), 32.0, r"(?s)too big.*\[80\.\]")
    runs(jt.function(doubled), jt.constant(1.0), jt.constant(10.0), 32.0, "too big")


def test_in_a_gradient_of_a_loop():
    for call in (doubled, jt.function(doubled)):
        runs(jt.grad(call), jt.constant(1.0), jt.constant(10.0), 32.0, "too big")


def in_rows(rows):
    return jt.vectorized_map(lambda r: (D.assert_less(r, 50.0), r * 32.0)[1], rows)


def scanned(x):
    def step(a, b):
        D.assert_less(a, 9.0)
        return a * jt.sin(b)

    return jt.scan(step, x, 1.0)


def test_in_higher_derivatives_of_a_scan():
    x = np.array([1.0, 2.0])
    s, c = np.sin(x), np.cos(x)
    np.testing.assert_allclose(jt.jacobian(scanned)(x), [[c[0], 0.0], [c[0] * s[1], s[0] * c[1]]])
    hessian = jt.hessian(lambda y: jt.reduce_sum(scanned(y)))
    wanted = [[-s[0] - s[0] * s[1], c[0] * c[1]], [c[0] * c[1], -s[0] * s[1]]]
    for _ in range(3):
        np.testing.assert_allclose(hessian(x), wanted)


def test_in_a_branch():
    @jt.function
    def f(x):
        return jt.cond(x < 5.0, lambda: (D.assert_positive(x), x * 2.0)[1], lambda: x)

    runs(f, jt.constant(1.0), jt.constant(-1.0), 2.0, "Condition x > 0")

    @jt.function
    def g(x):
        return jt.cond(x > 0.0, lambda: (D.assert_positive(x), x * x)[1], lambda: x)

    for _ in range(3):  # the assertion of the other branch does not run
        assert float(g(jt.constant(-3.0))) == -3.0
    assert float(jt.grad(g)(jt.constant(3.0))) == 6.0


def test_in_a_vectorized_map():
    def f(rows):
        return jt.vectorized_map(lambda r: (D.assert_less(r, jt.constant([3.0, 4.0])), r * 2.0)[1], rows)

    runs(f, jt.constant([1.0, 2.5]), jt.constant([1.0, 3.5]), [2.0, 5.0], r"\[\[1 0\]\]")
    runs(
        lambda rows: jt.vectorized_map(doubled, rows),
        jt.constant([1.0, 1.5]),
        jt.constant([1.0, 20.0]),
        [32.0, 48.0],
        "too big",
    )


@pytest.mark.parametrize("call", [in_rows, jt.function(in_rows), doubled], ids=["rows", "function", "loop"])
@pytest.mark.parametrize("bad", [[1.0, 60.0], [60.0, 1.0]])
def test_a_failed_check_beside_a_tape_fails_once(call, bad):
    """A tape that has been left keeps the trace going: what was recorded before runs with the later flushes."""
    v = jt.Variable(1.0)
    for _ in range(3):
        with jt.GradientTape(persistent=True) as tape:
            y = v * v
        assert float(y) == float(v) ** 2
        for _ in range(2):
            pending = jt.sin(v)
            v.assign_add(1.0)
            with pytest.raises(INVALID):
                np.asarray(call(jt.constant(bad)))
            assert float(v.assign_add(1.0)) == float(y) ** 0.5 + 2.0
            np.testing.assert_allclose(np.asarray(call(jt.constant([1.0, 1.5]))), [32.0, 48.0])
            assert float(pending) == pytest.approx(np.sin(float(y) ** 0.5))
            v.assign(float(y) ** 0.5)
        assert float(tape.gradient(y, v)) == 2.0 * float(v)
        v.assign_add(1.0)


def test_in_a_tape():
    x = jt.Variable(1.5)
    for _ in range(3):
        with jt.GradientTape() as tape:
            y = x * x
            D.assert_positive(y)
            z = y * x
        assert float(tape.gradient(z, x)) == 6.75


def test_of_a_function_in_a_tape():
    @jt.function
    def f(x):
        D.assert_positive(x)
        return x * x

    x = jt.Variable(3.0)
    for _ in range(3):
        with jt.GradientTape() as tape:
            y = f(x)
        assert float(tape.gradient(y, x)) == 6.0


# ---- shapes and types ------------------------------------------------------------------------------------------------

X = jt.ones((2, 3))


@pytest.mark.parametrize(
    "shapes",
    [
        [(X, ("N", 3)), (jt.ones(2), ("N",))],
        [(X, ("...", 3))],
        [(X, (..., 3))],
        [(X, (None, 3))],
        [(X, (".", 3))],
        [(X, "NM")],
        [(X, "*")],
        [(X, ("2", jt.constant(3)))],
        [(jt.ones(()), ())],
        [(jt.ones(()), (...,))],
        [],
    ],
)
def test_shapes_that_agree(shapes):
    D.assert_shapes(shapes)


@pytest.mark.parametrize(
    ("shapes", "text"),
    [
        (
            [(X, ("N", 3)), (jt.ones(4), ("N",))],
            r"Specified by Tensor shape=\(2, 3\) dimension 0\..*size 2.*size 4",
        ),
        ([(X, (2, 4))], r"Specified explicitly\. .*dimension 1 must have size 4\.  Received size 3"),
        ([(X, (2,))], "must have rank 1.  Received rank 2"),
        ([(X, (..., 1, 2, 3))], "must have rank at least 3.  Received rank 2"),
        ([(X, "N*")], "only allowed as the first entry"),
        ([(X, ("N", "N"))], "dimension 1 must have size 2.  Received size 3"),
        ([(X, 3)], "must be an iterable"),
        ([(jt.ones(()), ("N",))], "must have rank 1"),  # TensorFlow accepts any symbols for a scalar
    ],
)
def test_shapes_that_differ(shapes, text):
    with pytest.raises(ValueError, match=f"^message\\.  .*{text}"):
        D.assert_shapes(shapes, message="message")


STRUCTURE = [
    (
        lambda: D.assert_rank([1, 2], 2, "m"),
        ValueError,
        r"m\.  Tensor must have rank 2\.  Received rank 1, shape \(2,\)",
    ),
    (lambda: D.assert_rank([1, 2], [2]), ValueError, "Rank must be a scalar"),
    (lambda: D.assert_rank([1, 2], 1.5), TypeError, "rank must be an int"),
    (lambda: D.assert_rank_at_least([1, 2], 2), ValueError, "must have rank at least 2"),
    (lambda: D.assert_rank_in([1, 2], [0, 2]), ValueError, r"must have rank in \(0, 2\)"),
    (lambda: D.assert_scalar([1], "m"), ValueError, r"m\.  Expected scalar shape, saw shape: \(1,\)\."),
    (lambda: D.assert_type(jt.constant(1), jt.float32), TypeError, "must be of type float32; got int32"),
    (lambda: D.assert_integer(1.0, "m"), TypeError, r'm\.  Expected "x" to be integer type'),
    (lambda: D.assert_proper_iterable(jt.constant([1])), TypeError, '"proper" iterable'),
    (lambda: D.assert_proper_iterable("abc"), TypeError, '"proper" iterable'),
    (lambda: D.assert_proper_iterable(np.ones(2)), TypeError, '"proper" iterable'),
    (lambda: D.assert_proper_iterable(3), TypeError, "to be iterable"),
    (
        lambda: D.assert_same_float_dtype([jt.ones(1), jt.ones(1, jt.float64)]),
        ValueError,
        "Tensor 1 is float64",
    ),
    (lambda: D.assert_same_float_dtype([jt.ones(1)], jt.float64), ValueError, "must be float64, as `dtype`"),
    (
        lambda: D.assert_same_float_dtype([jt.constant(1)]),
        ValueError,
        "Expected floating point type, got int32",
    ),
    (
        lambda: D.assert_same_float_dtype(None, jt.int32),
        ValueError,
        "Expected floating point type, got int32",
    ),
]


@pytest.mark.parametrize(("assertion", "kind", "text"), STRUCTURE)
def test_structure_that_differs(assertion, kind, text):
    with pytest.raises(kind, match=text):
        assertion()


def test_structure_that_agrees():
    D.assert_rank([1, 2], 1)
    D.assert_rank(jt.Variable(1.0), jt.constant(0))
    D.assert_rank_at_least([1, 2], 1)
    D.assert_rank_in([1, 2], [0, 1])
    assert D.assert_scalar(1) == 1
    D.assert_type(1, jt.int32)
    D.assert_integer([1])
    D.assert_proper_iterable([1])
    assert D.assert_same_float_dtype() == D.assert_same_float_dtype([jt.ones(2)]) == jt.float32
    numeric = (jt.constant(1.0), 1.0, jt.constant(True), jt.Variable(1.0), np.ones(2))
    assert [D.is_numeric_tensor(x) for x in numeric] == [True, False, False, False, False]


def test_the_names_at_top_level():
    for name in ("Assert", "assert_equal", "assert_greater", "assert_less", "assert_rank"):
        assert getattr(jt, name) is getattr(D, name)
