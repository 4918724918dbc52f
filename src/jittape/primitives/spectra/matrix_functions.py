"""Functions of square matrices: exponential, principal square root and principal logarithm.

Each function has a record, and its derivative in a direction has another one. The gradient of the function is its
derivative in the direction of the adjoint cotangent, and the adjoint of that. (The derivative at the adjoint matrix is
the same, except on the branch cut, where roots and logarithms jump.) The derivative has rules of its own, so
derivatives of any order exist. None of them divides by differences of eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jittape.core.forms import Call, Decomposition
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.primitives.batched_params import alike
from jittape.primitives.elementwise.assertions import MADE
from jittape.primitives.linalg.matrices import adjoint
from jittape.primitives.linalg.matrix_operands import (
    matrix_operand,
    require_matrix_dtype,
    require_square,
    same_stack,
)
from jittape.primitives.record_parts import filled
from jittape.primitives.shape.joining import concat, split
from jittape.primitives.spectra.decomposition_parts import NOT_CONVERGENT, decompose_stack
from jittape.primitives.spectra.matrix_exponential import exponential
from jittape.primitives.spectra.triangular_functions import logarithm, of_stack, square_root
from jittape.typing import Tensor, TensorLike

__all__ = ["expm", "logm", "sqrtm"]


def _records(
    name: str, function: Callable[[Any], Any], derivative: Callable[[Any, Any], Any], failure: str = ""
) -> tuple[Primitive, Primitive, Primitive]:
    """Return the records of a function of matrices, of its derivative in a direction, and of that in compiled code.

    Parameters
    ----------
    name : str
        Name of the function, and of its kernel.
    function : callable
        NumPy evaluation for a stack of finite matrices.
    derivative : callable
        NumPy evaluation of the derivative for stacks of matrices and of directions.
    failure : str
        Message for a kernel that may fail.
    """

    def abstract_eval(x: Aval) -> Aval:
        require_matrix_dtype(name, "input", x)
        require_square(name, "input", x)
        return x

    def impl(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return decompose_stack(name, function, x)

    def pairs_impl(pairs: Any) -> Any:
        n = pairs.shape[-2]
        with np.errstate(all="ignore"):
            return decompose_stack(name, lambda ab: derivative(ab[..., :n], ab[..., n:]), pairs)

    def x_vjp(g: Any, out: Any, x: Any, direction: Any) -> Any:
        # The second derivative, in two directions, is a block of the derivative for matrices of twice the size. It is
        # symmetric in the two directions; `g` is where the operation is linear, for tangents need no value of it.
        g, zero = adjoint(g), filled(x, 0)
        blocks = concat([concat([x, direction], -1), concat([zero, x], -1)], -2)
        directions = concat([concat([g, zero], -1), concat([zero, g], -1)], -2)
        upper = split(derivative_op.bind(blocks, directions), 2, -2)[0]
        return adjoint(split(upper, 2, -1)[1])

    pairs_op = Primitive(
        f"{name}_pairs",
        abstract_eval=lambda x: Aval((*x.shape[:-1], x.shape[-2]), x.dtype),
        impl=pairs_impl,
        gradient_stops=MADE,
        lowering=Call(f"{name}_derivative", failure=failure),
        batch=alike(),
    )
    derivative_op: Primitive = Primitive(
        f"{name}_derivative",
        abstract_eval=lambda x, direction: same_stack(name, x, direction),
        impl=lambda x, direction: pairs_impl(np.concatenate([x, direction], -1)),
        vjp=(x_vjp, lambda g, out, x, direction: adjoint(derivative_op.bind(x, adjoint(g)))),
        lowering=Decomposition(lambda x, direction: pairs_op.bind(concat([x, direction], -1))),
        batch=alike(),
    )
    op = Primitive(
        name,
        abstract_eval=abstract_eval,
        impl=impl,
        vjp=(lambda g, out, x: adjoint(derivative_op.bind(x, adjoint(g))),),
        lowering=Call(name, failure=failure),
        batch=alike(),
    )
    return op, derivative_op, pairs_op


expm_op, expm_derivative_op, expm_pairs_op = _records(
    "expm", lambda a: exponential(a)[0], lambda a, da: exponential(a, da)[1]
)
sqrtm_op, sqrtm_derivative_op, sqrtm_pairs_op = _records(
    "sqrtm",
    lambda a: of_stack(square_root, a),
    lambda a, da: of_stack(square_root, a, da),
    f"[sqrtm] {NOT_CONVERGENT}",
)
logm_op, logm_derivative_op, logm_pairs_op = _records(
    "logm",
    lambda a: of_stack(logarithm, a),
    lambda a, da: of_stack(logarithm, a, da),
    f"[logm] {NOT_CONVERGENT}",
)
"""The ops with pairs have a direction to the right of each matrix."""


def _expm(x: Any) -> Any:
    return expm_op.bind(matrix_operand("expm", "input", x))


def expm(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the exponential of square matrices.

    Derivatives of any order are exact, also at equal eigenvalues.

    Parameters
    ----------
    input : tensor_like of shape (..., n, n)
        float32, float64, complex64 or complex128.
    name : str, optional
        Ignored.

    Returns
    -------
    tensor of shape (..., n, n)
        nan for a matrix that contains nan or inf.

    Raises
    ------
    ShapeError
        If the matrices are not square.
    DTypeError
        If the dtype is not supported.

    Examples
    --------
    >>> jt.linalg.expm([[0.0, 1.0], [0.0, 0.0]]).numpy()
    array([[1., 1.],
           [0., 1.]], dtype=float32)
    """
    return apply(_expm, (input,))


def _sqrtm(x: Any) -> Any:
    return sqrtm_op.bind(matrix_operand("sqrtm", "input", x))


def sqrtm(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the principal square root of square matrices: ``root @ root = input``.

    The eigenvalues of the root have positive real parts, or are 0. A real matrix gives a real root, so the result is
    nan if an eigenvalue is negative: cast the matrix to complex128 first. It is nan too for a matrix that has no root.
    The gradient is nan at a singular matrix, unless only changes that keep its zero eigenvalues contribute.

    Parameters
    ----------
    input : tensor_like of shape (..., n, n)
        float32, float64, complex64 or complex128.
    name : str, optional
        Ignored.

    Returns
    -------
    tensor of shape (..., n, n)
        nan for a matrix that contains nan or inf.

    Raises
    ------
    ShapeError
        If the matrices are not square.
    DTypeError
        If the dtype is not supported.

    Examples
    --------
    >>> jt.linalg.sqrtm([[4.0, 1.0], [0.0, 9.0]]).numpy()
    array([[2. , 0.2],
           [0. , 3. ]], dtype=float32)
    """
    return apply(_sqrtm, (input,))


def _logm(x: Any) -> Any:
    return logm_op.bind(matrix_operand("logm", "input", x))


def logm(input: TensorLike, name: str | None = None) -> Tensor:
    """Compute the principal logarithm of square matrices: ``expm(logarithm) = input``.

    The imaginary parts of the eigenvalues of the logarithm are between -pi and pi. A real matrix gives a real
    logarithm, so the result is nan if an eigenvalue is negative: cast the matrix to complex128 first, the only kind of
    dtype that TensorFlow supports here. The result is nan for a singular matrix.

    Parameters
    ----------
    input : tensor_like of shape (..., n, n)
        float32, float64, complex64 or complex128.
    name : str, optional
        Ignored.

    Returns
    -------
    tensor of shape (..., n, n)
        nan for a matrix that contains nan or inf.

    Raises
    ------
    ShapeError
        If the matrices are not square.
    DTypeError
        If the dtype is not supported.

    Examples
    --------
    >>> jt.linalg.logm([[1.0, 2.0], [0.0, 1.0]]).numpy()
    array([[0., 2.],
           [0., 0.]], dtype=float32)
    """
    return apply(_logm, (input,))
