"""Matrix products and einsum: what programs they become, errors, dtypes, random equations against NumPy."""

from __future__ import annotations

import string
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jittape as jt
from jittape.primitives.linalg.einsum import diag_part, einsum, trace
from jittape.primitives.linalg.matmul import matmul, matvec, outer, tensordot
from programs import gradient_program, program_of

Array = np.ndarray[Any, Any]


def operations(function: Any, *shapes: tuple[int, ...], wrt: tuple[int, ...] = ()) -> list[str]:
    program = program_of(function, *[np.zeros(shape, np.float32) for shape in shapes])
    return [op.primitive.name for op in (gradient_program(program, wrt) if wrt else program).ops]


# ---- what a product becomes ------------------------------------------------------------------------------------------


def test_a_plain_product_is_one_op() -> None:
    assert operations(matmul, (2, 3), (3, 4)) == ["matmul"]


def test_its_gradient_is_two_products_of_transposes() -> None:
    found = operations(matmul, (2, 3), (3, 4), wrt=(0, 1))
    assert sorted(found) == ["matmul", "matmul", "matmul", "transpose", "transpose"]


@pytest.mark.parametrize(
    ("a", "b"), [((7, 2, 3), (3, 4)), ((5, 7, 2, 3), (1, 3, 4)), ((3, 2), (7, 2, 4)), ((7, 2, 3), (3,))]
)
def test_a_stack_times_one_matrix_is_one_tall_product(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    program = program_of(matmul, np.zeros(a), np.zeros(b))
    (product,) = [op for op in program.ops if op.primitive.name == "matmul"]
    assert all(program.avals[slot].ndim == 2 for slot in product.args)
    assert "broadcast_to" not in operations(matmul, a, b, wrt=(0, 1))


def test_vectors_multiply_and_add_up() -> None:
    assert operations(matmul, (3,), (3,)) == ["multiply", "sum"]


@pytest.mark.parametrize(
    ("equation", "shapes", "count"),
    [
        ("ij,jk->ik", ((2, 3), (3, 4)), 1),
        ("bij,bjk->bik", ((5, 2, 3), (5, 3, 4)), 1),
        ("i,j->ij", ((2,), (3,)), 0),
        ("ij,ij->", ((2, 3), (2, 3)), 0),
        ("bij,bij->b", ((5, 2, 3), (5, 2, 3)), 0),
        ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 5)), 2),
    ],
)
def test_a_summation_becomes_products(equation: str, shapes: Any, count: int) -> None:
    assert operations(lambda *x: einsum(equation, *x), *shapes).count("matmul") == count


# ---- values and dtypes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float16", "complex64"])
def test_dtype_stays(dtype: str) -> None:
    a = np.arange(6).reshape(2, 3).astype(dtype)
    got = matmul(a, a, transpose_b=True)
    assert got.dtype == a.dtype
    np.testing.assert_array_equal(got.numpy(), a @ a.T)


def test_dtypes_promote() -> None:
    a, b = np.ones((2, 3), np.float32), np.ones((3, 2), np.int32)
    assert matmul(a, b).dtype == np.float64
    assert matmul(a, [[1.0], [2.0], [3.0]]).dtype == np.float32
    assert einsum("ij,jk", a, b).dtype == np.float64


def test_adjoints_conjugate() -> None:
    a = np.array([[1 + 2j, 3], [4j, 5 - 1j]])
    np.testing.assert_allclose(matmul(a, a, adjoint_a=True).numpy(), a.conj().T @ a)
    np.testing.assert_allclose(matmul(a, a, adjoint_b=True).numpy(), a @ a.conj().T)
    np.testing.assert_allclose(matvec(a, a[0], adjoint_a=True).numpy(), a.conj().T @ a[0])


def test_gradient_of_a_complex_product_is_conjugate() -> None:
    a, b = np.array([[1 + 2j]]), np.array([[3 - 1j]])
    x = jt.Variable(a)
    with jt.GradientTape() as tape:
        y = matmul(x, b)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), b.conj())


@st.composite
def equations(draw: st.DrawFn) -> tuple[str, list[Array]]:
    """A random equation with up to three operands, repeated labels and dimensions of length 1."""
    letters = string.ascii_lowercase[: draw(st.integers(1, 5))]
    sizes = {letter: draw(st.integers(0, 3)) for letter in letters}
    terms = draw(st.lists(st.text(letters, max_size=3), min_size=1, max_size=3))
    used = sorted(set("".join(terms)))
    result = "".join(draw(st.permutations(used))[: draw(st.integers(0, len(used)))])
    operands = [
        np.arange(1.0, 1 + np.prod([sizes[a] for a in term], dtype=int)).reshape([sizes[a] for a in term])
        for term in terms
    ]
    arrow = draw(st.sampled_from(["->" + result, ""]))
    return ",".join(terms) + arrow, operands


@settings(max_examples=200, deadline=None, derandomize=True)
@given(equations())
def test_einsum_is_numpys(drawn: tuple[str, list[Array]]) -> None:
    equation, operands = drawn
    expected = np.asarray(np.einsum(equation, *operands))
    got = einsum(equation, *operands)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("k", [-5, -2, 0, 1, 4, 7])
def test_diagonals(k: int) -> None:
    x = np.arange(20.0).reshape(4, 5)
    np.testing.assert_array_equal(diag_part(x, k).numpy(), np.diagonal(x, k))
    assert trace(x, k).numpy() == np.trace(x, k)


# ---- errors ----------------------------------------------------------------------------------------------------------


def zeros(*shapes: tuple[int, ...]) -> list[Array]:
    return [np.zeros(shape, np.float32) for shape in shapes]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: matmul(*zeros((2, 3), (2, 3))),
            r"\[matmul\] shapes \(2, 3\) and \(2, 3\) .*transpose_a=True would fit",
        ),
        (lambda: matmul(*zeros((2, 3), (5, 3))), "transpose_b=True would fit"),
        (
            lambda: matmul(*zeros((2, 3), (4, 5))),
            "3 columns against 4 rows; the last dimension of the first must",
        ),
        (lambda: matmul(*zeros((2, 3), (3, 5)), transpose_a=True), r"\(2, 3\) transposed and \(3, 5\)"),
        (lambda: matmul(*zeros((2, 3), ())), "multiply is for scalars"),
        (
            lambda: matmul(*zeros((3,), (3, 2)), transpose_a=True),
            "a transposed operand needs at least 2 dimensions",
        ),
        (lambda: matmul(*zeros((2, 2, 3), (3, 3, 5))), "leading dimensions must broadcast"),
        (lambda: matvec(*zeros((3,), (3,))), "needs matrices and vectors"),
        (lambda: matvec(*zeros((2, 3), (2, 1))), r"as a has columns, got shapes \(2, 3\) and \(2, 1\)"),
        (lambda: matvec(*zeros((2, 3), (3,)), transpose_a=True), r"as a has rows, got shapes \(2, 3\)"),
        (lambda: tensordot(*zeros((2, 3), (4, 5)), axes=1), "contracted dimensions must be equal"),
        (lambda: tensordot(*zeros((2, 3), (4, 5)), axes=3), "axes=3 is too many"),
        (lambda: tensordot(*zeros((2, 3), (4, 5)), axes=([0, 1], [0])), "equally many"),
        (lambda: einsum("ij,jk->ik", *zeros((2, 3), (4, 4))), "label 'j' of 'ij,jk->ik' has lengths 3 and 4"),
        (lambda: einsum("ij->ij", *zeros((2,))), "names 2 dimensions, the operand has 1"),
        (lambda: einsum("ij", *zeros((2, 3), (2, 3))), "is for 1 operands, got 2"),
        (lambda: einsum("ij->il", *zeros((2, 3))), "'l', which no operand has"),
        (lambda: einsum("ij->ii", *zeros((2, 3))), "a label twice"),
        (lambda: einsum("i1", *zeros((2, 3))), "contains '1'"),
        (lambda: einsum("i...j...", *zeros((2, 3))), "two ellipses"),
        (lambda: einsum("i->i"), "needs operands"),
        (lambda: diag_part(*zeros((3,))), "at least 2 dimensions"),
        (lambda: trace(*zeros((3, 3)), axis1=1, axis2=-1), "are the same"),
    ],
)
def test_misfits(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_outer_flattens() -> None:
    x = np.arange(4.0).reshape(2, 2)
    np.testing.assert_array_equal(outer(x, x[0]).numpy(), np.outer(x, x[0]))
