"""Sparse Jacobians and Hessians: the same as the dense ones, for every method, and prepared once."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import jittape as jt
from jittape.sparse.coloring import Neighbors, acyclic_coloring, column_coloring, star_coloring

N = 12
X = np.random.default_rng(0).normal(size=N)
FACTOR = np.random.default_rng(1).normal(size=(4, 3)) * (np.arange(12).reshape(4, 3) % 3 > 0)
PICKED = np.array([3, 1, 1, 7])


def arrow(x: Any) -> Any:
    return jt.concat([jt.reduce_sum(x)[None] * x[:1], x[1:] * x[0]], 0)


def blocks(x: Any) -> Any:
    matrix = jt.reshape(x[:9], [3, 3])
    return jt.linalg.cholesky(matrix @ jt.transpose(matrix) + 3.0 * jt.eye(3, dtype="float64"))


def written(x: Any) -> Any:
    y = x * 1.0
    y[2:4] = x[:2] ** 2
    y[0] += x[5]
    return y


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: jt.sin(x) * 2.0,
    "stencil": lambda x: x[1:] ** 2 - x[:-1] * x[1:],
    "periodic": lambda x: jt.roll(x, 1, 0) * x - jt.roll(x, -2, 0),
    "arrow": arrow,
    "product with a constant": lambda x: jt.reshape(x, [3, 4]) @ FACTOR,
    "constant from the left": lambda x: jt.constant(FACTOR.T) @ jt.reshape(x, [4, 3]),
    "product of both": lambda x: jt.reshape(x[:6], [2, 3]) @ jt.reshape(x[6:], [3, 2]),
    "running sum": lambda x: jt.cumsum(x) * x,
    "scatter": lambda x: jt.tensor_scatter_nd_add(x, [[1], [1], [3]], x[:3] * x[2:5]),
    "overwritten": lambda x: jt.tensor_scatter_nd_update(x, [[1], [3]], x[6:8] ** 2),
    "gather": lambda x: jt.gather(x, PICKED) * x[0],
    "index array": lambda x: x[np.array([[0, 2], [2, 5]])] ** 2,
    "scan": lambda x: jt.scan(lambda c, e: c * 0.5 + e, x, x[0] * 0.0),
    "long loop": lambda x: jt.fori_loop(0, 2000, lambda i, y: y * 0.999 + 0.001 * x[:4] ** 2, x[:4]),
    "while": lambda x: jt.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, x))[1],
    "branch": lambda x: jt.cond(x[0] > 0.0, lambda: x[1:3] ** 2, lambda: x[2:4] * x[0]),
    "select": lambda x: jt.where(x > 0, x**2, x[::-1]),
    "stopped": lambda x: jt.stop_gradient(x) * x[::-1],
    "rounded": lambda x: jt.floor(x) * x,
    "reduced": lambda x: jt.reduce_max(jt.reshape(x, [3, 4]), 1),
    "padded": lambda x: jt.pad(x[:4] ** 2, [[2, 1]]),
    "transposed": lambda x: jt.transpose(jt.reshape(x, [3, 4])) ** 2,
    "factorization": blocks,
    "determinant": lambda x: jt.linalg.det(jt.reshape(x[:9], [3, 3])) * x[9:],
    "factors": lambda x: jt.linalg.lu(jt.reshape(x[:4], [2, 2]))[0],
    "sorted": lambda x: jt.sort(x)[:2],
    "written to": written,
    "constant": lambda x: x[:2] * 0.0 + jt.zeros([2], "float64"),
    "independent": lambda x: jt.ones([3], "float64"),
    "scalar": lambda x: jt.reduce_sum(x[:3] ** 2),
    "empty": lambda x: x[:0],
}
METHODS = (None, "column", "row", "bidirectional")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_equals_the_dense_jacobian(name: str, method: str | None) -> None:
    f = FUNCTIONS[name]
    dense = np.asarray(jt.jacobian(f, unconnected_gradients="zero")(X)).reshape(-1, N)
    sparse = jt.sparse_jacobian(f, method=method)
    for x in (X, X + 0.0):  # prepared, and looked up
        np.testing.assert_allclose(sparse(x).toarray(), dense, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_formats(format: str) -> None:
    f = FUNCTIONS["stencil"]
    matrix = jt.sparse_jacobian(f, format=format)(X)
    assert matrix.format == format
    np.testing.assert_allclose(matrix.toarray(), jt.jacobian(f)(X), rtol=1e-12)
    if format != "coo":
        matrix.sum_duplicates()
        assert matrix.has_sorted_indices
        matrix.check_format(full_check=True)


def random_function(rng: np.random.Generator) -> Callable[[Any], Any]:
    """Return a composition of random steps on a vector of `N` numbers."""
    factor = rng.normal(size=(N, N)) * (rng.random((N, N)) < 0.15)
    order = rng.integers(0, N, N)
    shift = int(rng.integers(1, N))
    steps: list[Callable[[Any], Any]] = [
        lambda y: jt.roll(y, shift, 0) * y,
        lambda y: jt.gather(y, order) + jt.sin(y),
        lambda y: jt.linalg.matvec(jt.constant(factor), y),
        lambda y: jt.concat([y[shift:] ** 2, y[:shift]], 0),
        lambda y: jt.reshape(jt.transpose(jt.reshape(y, [3, 4])), [-1]) - y,
        lambda y: jt.tensor_scatter_nd_add(y, order[:4, None], y[:4]),
        lambda y: jt.where(y > 0.0, y, y[::-1]),
        lambda y: jt.reshape(jt.cumsum(jt.reshape(y, [4, 3]), 1), [-1]),
        lambda y: jt.pad(y[1:] * y[:-1], [[1, 0]]),
        lambda y: jt.scan(lambda c, e: e + 0.0 * c, y, y[0]),
    ]
    chosen = [steps[i] for i in rng.integers(0, len(steps), 4)]

    def f(x: Any) -> Any:
        for step in chosen:
            x = step(x)
        return x

    return f


@pytest.mark.parametrize("seed", range(40))
def test_random_functions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    f, x = random_function(rng), rng.normal(size=N)
    dense = np.asarray(jt.jacobian(f, unconnected_gradients="zero")(x))
    method = METHODS[seed % len(METHODS)]
    found = jt.sparse_jacobian(f, method=method)(x)
    np.testing.assert_allclose(found.toarray(), dense, rtol=1e-10, atol=1e-12)


# ---- Hessians --------------------------------------------------------------------------------------------------------


def rosenbrock(x: Any) -> Any:
    return jt.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def grid(x: Any) -> Any:
    u = jt.reshape(x, [3, 4])
    return jt.reduce_sum(jt.sin(u[1:] * u[:-1])) + jt.reduce_sum(u[:, 1:] ** 3 * u[:, :-1])


def star(x: Any) -> Any:
    return jt.reduce_sum(x[0] * x**2) + jt.reduce_sum(x[1:] * x[:-1])


@pytest.mark.parametrize("method", [None, "column", "star", "acyclic"])
@pytest.mark.parametrize("f", [rosenbrock, grid, star, lambda x: jt.reduce_prod(x[:3]), jt.reduce_sum])
def test_equals_the_dense_hessian(f: Callable[[Any], Any], method: str | None) -> None:
    found = jt.sparse_hessian(f, method=method)(X)
    np.testing.assert_allclose(found.toarray(), jt.hessian(f)(X), rtol=1e-9, atol=1e-10)


def test_constant_elements_of_a_function_that_may_fail() -> None:
    hessian = jt.sparse_hessian(lambda x, at: jt.reduce_sum(jt.gather(x**2, jt.cast(at, "int64"))))
    at = np.arange(N, dtype=float)
    assert hessian.method(X, at) == "diagonals"
    np.testing.assert_array_equal(hessian(X, at[::-1]).toarray(), 2.0 * np.eye(N))
    np.testing.assert_array_equal(hessian(X, at * 0.0).toarray(), np.diag([2.0 * N] + [0.0] * (N - 1)))
    with pytest.raises(IndexError, match="an index is out of bounds"):
        hessian(X, at + 1.0)


def test_symmetric_colorings_take_fewer_passes() -> None:
    counts = {}
    for method in ("column", "star", "acyclic"):
        text = jt.sparse_hessian(star, method=method).method(X)
        counts[method] = int(text.split(", ")[1].split()[0])
    assert counts["acyclic"] <= counts["star"] < counts["column"] == N


@pytest.mark.parametrize("hub", [0, 5, -1])
def test_a_parameter_that_all_terms_share_takes_one_pass_more(hub: int) -> None:
    """The Hessian of a model with groups has a dense row, which is the last one if the shared parameter is."""
    group = np.arange(N) // 2
    for f, passes in (
        (lambda x: jt.reduce_sum(x**2 * x[hub]), 2),
        (lambda x: jt.reduce_sum((x - jt.gather(x**2, group)) ** 2 * x[hub]), 4),
    ):
        hessian = jt.sparse_hessian(f, method="star")
        assert int(hessian.method(X).split(", ")[1].split()[0]) <= passes
        np.testing.assert_allclose(hessian(X).toarray(), jt.hessian(f)(X), rtol=1e-10)


def test_acyclic_colorings_take_no_more_passes_than_star_colorings() -> None:
    rng = np.random.default_rng(1)
    hubs, others = (rng.random(900) ** 4 * 300).astype(int), rng.integers(0, 300, 900)

    def f(x: Any) -> Any:
        return jt.reduce_sum(jt.gather(x, hubs) ** 2 * jt.gather(x, others) ** 2)

    x = rng.normal(size=300)
    star, acyclic = (
        int(jt.sparse_hessian(f, method=method).method(x).split(", ")[1].split()[0])
        for method in ("star", "acyclic")
    )
    assert acyclic <= star


def random_symmetric(seed: int) -> jt.SparsityPattern:
    rng = np.random.default_rng(seed)
    dense = rng.random((15, 15)) < 0.15
    rows, columns = np.nonzero(dense | dense.T)
    return jt.SparsityPattern.of_positions(rows, columns, (15, 15), "csr")[0]


@pytest.mark.parametrize("seed", range(20))
def test_colorings_keep_their_rules(seed: int) -> None:
    pattern = random_symmetric(seed)
    colors = column_coloring(pattern).colors
    for row in range(15):
        own = colors[pattern.columns[pattern.rows == row]]
        assert len(set(own)) == len(own)
    neighbors = Neighbors(pattern)
    for coloring in (star_coloring(neighbors), acyclic_coloring(neighbors)):
        assert all(coloring.colors[i] != coloring.colors[j] for i in range(15) for j in neighbors.of[i])
    colors = star_coloring(neighbors).colors
    for b in range(15):
        for a in neighbors.of[b]:
            for c in neighbors.of[b]:
                for d in neighbors.of[c]:
                    if len({a, b, c, d}) == 4:
                        assert len({colors[a], colors[b], colors[c], colors[d]}) > 2
    colors = acyclic_coloring(neighbors).colors
    for first in range(colors.max() + 1):
        for second in range(first):
            own = np.isin(colors, [first, second])
            edges = sum(own[i] and own[j] for i in range(15) for j in neighbors.of[i]) // 2
            inside = scipy.sparse.coo_array(
                (np.ones(pattern.nnz), (pattern.rows, pattern.columns)), shape=(15, 15)
            ).tocsr()[own][:, own]
            trees = scipy.sparse.csgraph.connected_components(inside, directed=False, return_labels=False)
            assert edges == own.sum() - trees  # no cycle


def test_product_with_a_vector_and_with_matrices() -> None:
    product, dense = jt.sparse_hvp(rosenbrock), jt.hessian(rosenbrock)(X)
    v = np.arange(N, dtype=float)
    np.testing.assert_allclose(product(X, v), dense @ v, rtol=1e-10)
    columns = np.random.default_rng(2).normal(size=(N, 3))
    np.testing.assert_allclose(product(X, columns), dense @ columns, rtol=1e-10)
    found = product(X, scipy.sparse.csr_array(columns))
    assert scipy.sparse.issparse(found)
    np.testing.assert_allclose(found.toarray(), dense @ columns, rtol=1e-10)
    with pytest.raises(
        jt.ShapeError, match=r"\[sparse_hvp\] v must have the shape \(12,\) of x or be a matrix"
    ):
        product(X, np.ones((3, 2)))


# ---- use -------------------------------------------------------------------------------------------------------------


def test_arguments_variables_and_captured_tensors() -> None:
    scale, offset = jt.Variable(np.full(N, 2.0)), jt.constant(np.arange(N, dtype=float))

    def f(a: Any, x: Any, k: int, *, rate: float) -> Any:
        return x[k:] * a * scale[k:] + rate * offset[k:] * x[:-k] ** 2

    for method in (None, "column"):
        sparse = jt.sparse_jacobian(f, 1, method=method)
        for factor, k, rate in ((3.0, 1, 0.5), (4.0, 1, 0.25), (4.0, 2, 0.25)):
            scale.assign(scale + 1.0)
            args = (np.float64(factor), X, k)
            found = sparse(*args, rate=rate)
            np.testing.assert_allclose(found.toarray(), jt.jacobian(f, 1)(*args, rate=rate), rtol=1e-12)


KINDS: dict[str, Callable[[Any], Any]] = {
    "array": np.array,
    "tensor": jt.constant,
    "variable": jt.Variable,
    "number": lambda x: np.float64(x) if np.ndim(x) == 0 else np.array(x),
    "python number": lambda x: float(x) if np.ndim(x) == 0 else np.array(x),
}


@pytest.mark.parametrize("point", [np.array(1.5), np.array([1.5, -0.5, 2.0])], ids=["scalar", "vector"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", [None, "column"])
def test_what_is_varied_may_be_of_any_kind(kind: str, point: Any, method: str | None) -> None:
    """Patterns of Variables and numbers were empty, and the matrices zero."""
    x = KINDS[kind](point)
    expected = np.diag(np.atleast_1d(3.0 * point**2))
    jacobian = jt.sparse_jacobian(lambda scale, x: scale * x**3, 1, method=method)
    for scale in (1.0, 2.0):
        np.testing.assert_allclose(jacobian(scale, x).toarray(), scale * expected)
        np.testing.assert_allclose(jacobian.values(scale, x), scale * np.diag(expected))
    assert jacobian.pattern(1.0, x).nnz == point.size
    hessian = jt.sparse_hessian(lambda x: jt.reduce_sum(x**3), method=method)
    np.testing.assert_allclose(hessian(x).toarray(), np.diag(np.atleast_1d(6.0 * point)))
    if kind == "variable":
        x.assign(2.0 * point)
        np.testing.assert_allclose(jacobian(1.0, x).toarray(), 4.0 * expected)
        with jt.GradientTape() as tape:
            value = jt.reduce_sum(jacobian.values(1.0, x))
        np.testing.assert_allclose(tape.gradient(value, x), 12.0 * point)


def test_index_argument_of_another_value_is_another_pattern() -> None:
    sparse = jt.sparse_jacobian(lambda x, i: jt.gather(x, i) ** 2)
    for index in ([0, 1, 2], [5, 5, 3]):
        dense = np.zeros((3, N))
        dense[np.arange(3), index] = 2 * X[index]
        np.testing.assert_allclose(sparse(X, np.array(index)).toarray(), dense, rtol=1e-12)


def test_later_calls_trace_and_compile_nothing() -> None:
    sparse = jt.sparse_jacobian(FUNCTIONS["stencil"])
    sparse(X)
    before = jt.stats().kernels
    for _ in range(3):
        sparse(X)
    assert jt.stats().kernels == before
    assert sparse._plan((X,), {}).compiled.trace_count == 1


def test_known_diagonals_compute_only_their_values() -> None:
    """The Jacobian of a stencil on 2,500 numbers: no pass over a stack, and constants only once."""

    def f(x: Any) -> Any:
        u = jt.reshape(x, [50, 50])
        return u[1:-1, 1:-1] ** 2 + u[2:, 1:-1] - 4.0 * u[1:-1, :-2]

    sparse = jt.sparse_jacobian(f)
    x = np.random.default_rng(0).normal(size=2500)
    found = sparse(x)
    assert sparse.method(x) == "diagonals"
    assert found.nnz == 3 * 48 * 48
    plan = sparse._plan((x,), {})
    assert plan.diagonals is not None
    assert len(plan.diagonals.places) == 48 * 48


def test_long_diagonals_are_written_one_by_one() -> None:
    """Of the first function, all diagonals are at places of their own; of the second, some add up."""

    def reaction(x: Any) -> Any:
        u, v = jt.unstack(jt.reshape(x, [2, 300]))
        return jt.concat([u * u * v + jt.roll(u, 1, 0), jt.sin(u) * v - 3.0 * v], 0)

    def added(x: Any) -> Any:
        return x[1:] ** 2 * x[:-1] + jt.sin(x[1:])

    x = np.random.default_rng(0).normal(size=600)
    for f in (reaction, added):
        sparse = jt.sparse_jacobian(f)
        plan = sparse._plan((x,), {})
        assert plan.diagonals is not None
        assert len(plan.diagonals.parts) > 1
        for _ in range(3):
            np.testing.assert_allclose(sparse(x).toarray(), jt.jacobian(f)(x), rtol=1e-13, atol=1e-15)
        product = jt.grad(lambda x, s=sparse: jt.reduce_sum(s.values(x) ** 2))(x)
        expected = jt.grad(lambda x, f=f: jt.reduce_sum(jt.jacobian(f)(x) ** 2))(x)
        np.testing.assert_allclose(product, expected, rtol=1e-10, atol=1e-12)


def test_values_are_differentiable() -> None:
    f = FUNCTIONS["stencil"]
    sparse = jt.sparse_jacobian(f)
    pattern = sparse.pattern(X)

    def total(x: Any) -> Any:
        return jt.reduce_sum(sparse.values(x) ** 2)

    def expected(x: Any) -> Any:
        return jt.reduce_sum(jt.jacobian(f)(x) ** 2)

    np.testing.assert_allclose(jt.grad(total)(X), jt.grad(expected)(X), rtol=1e-10)
    np.testing.assert_allclose(jt.function(sparse.values)(X).numpy(), sparse.values(X), rtol=1e-12)
    assert pattern.matrix(sparse.values(X)).shape == (N - 1, N)


def test_number_of_a_traced_function_selects_the_pattern() -> None:
    sparse = jt.sparse_jacobian(lambda x, k: x[k:] * x[:-k] ** 2)
    step = jt.function(lambda x, k: jt.reduce_sum(sparse.values(x, k)))
    for k in (1, 2, 1):
        expected = jt.jacobian(lambda x, k=k: x[k:] * x[:-k] ** 2)(X).sum()
        np.testing.assert_allclose(step(X, k), expected, rtol=1e-10)


def test_pickles() -> None:
    sparse = pickle.loads(pickle.dumps(jt.sparse_hessian(rosenbrock)))
    np.testing.assert_allclose(sparse(X).toarray(), jt.hessian(rosenbrock)(X), rtol=1e-10)
    pattern = pickle.loads(pickle.dumps(sparse.pattern(X)))
    np.testing.assert_array_equal(pattern.rows, sparse.pattern(X).rows)
    assert repr(pattern) == "<SparsityPattern of a (12, 12) matrix, 34 of 144 elements, format 'csr'>"


def test_shared_index_arrays_are_read_only() -> None:
    first = jt.sparse_jacobian(FUNCTIONS["stencil"])(X)
    with pytest.raises(ValueError, match="read-only"):
        first.indices[0] = 5


@pytest.mark.parametrize("method", ["diagonals", "column"])
@pytest.mark.parametrize("f", [FUNCTIONS["stencil"], lambda x: 2.0 * x[1:] - x[:-1], lambda x: x * 0.0 + 1.0])
def test_elements_are_the_callers_own(f: Any, method: str) -> None:
    x = np.random.default_rng(0).normal(size=20_000)
    sparse = jt.sparse_jacobian(f, method=method)
    expected = sparse(x).data.copy()
    matrices = [sparse(x) for _ in range(3)]
    matrices[0].data[:] = 7.0
    matrices.append(sparse(x))
    np.testing.assert_array_equal(matrices[0].data, 7.0)
    for matrix in matrices[1:]:
        np.testing.assert_array_equal(matrix.data, expected)


# ---- errors ----------------------------------------------------------------------------------------------------------


def branching(x: Any) -> Any:
    return x[:3] * (2.0 if x[0] > 0 else 3.0)


ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: jt.sparse_jacobian(jt.sin, format="bsr"),
        ValueError,
        "format must be one of csr, csc, coo, got 'bsr'",
    ),
    (
        lambda: jt.sparse_hessian(jt.reduce_sum, method="row"),
        ValueError,
        "method must be one of diagonals, column",
    ),
    (lambda: jt.sparse_jacobian(jt.sin, (0, 1)), TypeError, "argnums must be the number of one argument"),
    (lambda: jt.sparse_jacobian(jt.sin, 1)(X), ValueError, "argnums=1 requires argument 1"),
    (
        lambda: jt.sparse_jacobian(jt.sin)([X, X]),
        TypeError,
        "the varied argument must be one array, got list",
    ),
    (lambda: jt.sparse_jacobian(jt.sin)(np.arange(3)), TypeError, "must have a real floating dtype"),
    (lambda: jt.sparse_jacobian(jt.sin)(1j * X), TypeError, "must have a real floating dtype"),
    (lambda: jt.sparse_jacobian(lambda x: (x, x))(X), TypeError, "the function must return one tensor"),
    (lambda: jt.sparse_jacobian(lambda x: jt.complex(x, x))(X), TypeError, "must return real floats"),
    (
        lambda: jt.sparse_jacobian(lambda x: jt.cumsum(x), method="diagonals")(X),
        ValueError,
        "do not imply a few diagonals",
    ),
    (lambda: jt.sparse_jacobian(3), TypeError, "f must be a function, got 3"),  # type: ignore[arg-type]
    (lambda: jt.sparse_hessian("f"), TypeError, "f must be a function, got 'f'"),  # type: ignore[arg-type]
    # Without a limit, the system would end the process for lack of memory.
    (lambda: jt.sparse_hessian(lambda x: jt.reduce_sum(x) ** 2)(np.ones(10_000)), ValueError, "is dense"),
    (lambda: jt.sparse_jacobian(lambda x: x * jt.reduce_sum(x))(np.ones(10_000)), ValueError, "is dense"),
    (
        lambda: jt.sparse_jacobian(lambda x: jt.linalg.inv(jt.reshape(x, (100, 100))))(np.ones(10_000)),
        ValueError,
        "is dense",
    ),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case: int) -> None:
    call, kind, text = ERRORS[case]
    with pytest.raises(kind, match=r"\[sparse_(jacobian|hessian)\] .*") as raised:
        call()
    assert text in str(raised.value)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("f", "line"),
    [
        (branching, "bool"),
        (lambda x: x[x > 0.0] ** 2, "getitem"),
        (lambda x: x * float(x[0]), "float"),
        (lambda x: x * x[int(np.argmax(x.numpy()))], "numpy"),
    ],
)
def test_pattern_that_depends_on_the_data_is_refused(f: Any, line: str) -> None:
    with pytest.raises(
        ValueError,
        match=rf"the pattern of .* depends on the data.*{line}\(\) at .*test_sparse_derivatives.py:\d+",
    ):
        jt.sparse_jacobian(f)(X)


def test_matrix_is_not_recorded() -> None:
    x = jt.Variable(X)
    sparse = jt.sparse_jacobian(jt.sin)
    with (
        jt.GradientTape(),
        pytest.raises(ValueError, match=r"use values\(\.\.\.\), which returns the elements"),
    ):
        sparse(x)
