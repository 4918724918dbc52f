"""Ops on numbers as users call them, with what they compute by NumPy or SciPy: the parts of the tables.

The tables are `number_ops_linalg.py`, `number_ops_special.py`, `number_ops_fourier.py` and `number_ops_random.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import jittape as jt

Array = np.ndarray[Any, Any]


class NumberOp(NamedTuple):
    """An op, its operands and what it computes.

    Attributes
    ----------
    name : str
        Unique in the table.
    function : callable
        Called with tensors of the dtype of the test.
    sample : callable
        ``sample(rng)`` draws the operands in float64, away from kinks.
    reference : callable or None
        The value by NumPy, SciPy or mpmath; None for random laws, whose values other tests compare.
    leading : bool
        Whether the op accepts operands with one more leading dimension each, and maps over it.
    order : int
        Number of derivatives that are compared with differences.
    tolerance : float
        Of values in float64, relative to the largest.
    """

    name: str
    function: Callable[..., Any]
    sample: Callable[[np.random.Generator], tuple[Array, ...]]
    reference: Callable[..., Any] | None
    leading: bool = True
    order: int = 2
    tolerance: float = 1e-13

    def __str__(self) -> str:
        return self.name


def normal(*shapes: tuple[int, ...]) -> Any:
    return lambda rng: tuple(rng.standard_normal(shape) for shape in shapes)


def between(low: float, high: float, *shapes: tuple[int, ...]) -> Any:
    return lambda rng: tuple(rng.uniform(low, high, shape) for shape in shapes)


def positive_definite(n: int, *others: tuple[int, ...]) -> Any:
    def sample(rng: np.random.Generator) -> tuple[Array, ...]:
        x = rng.standard_normal((n, n))
        return (x @ x.T + n * np.eye(n), *(rng.standard_normal(shape) for shape in others))

    return sample


def dominant(n: int, *others: tuple[int, ...]) -> Any:
    """Return a sampler of a well-conditioned matrix without symmetry, and further operands."""
    return lambda rng: (
        rng.standard_normal((n, n)) + np.diag(np.arange(2.0, 2.0 + n)),
        *(rng.standard_normal(shape) for shape in others),
    )


def symmetric(x: Any) -> Any:
    return 0.5 * (x + jt.linalg.matrix_transpose(x))


def np_symmetric(x: Array) -> Array:
    return 0.5 * (x + np.swapaxes(x, -1, -2))


def parts(x: Any) -> Any:
    """Return real and imaginary parts as one real tensor."""
    return jt.stack([jt.math.real(x), jt.math.imag(x)], axis=-1)


def np_parts(x: Any) -> Array:
    return np.stack([np.real(x), np.imag(x)], axis=-1)


def projector(vectors: Any) -> Any:
    """Return the projection on the span of columns, which does not depend on their signs."""
    return jt.matmul(vectors, vectors, adjoint_b=True)


def np_projector(vectors: Array) -> Array:
    return vectors @ np.swapaxes(vectors.conj(), -1, -2)


def outputs(*values: Any) -> Any:
    """Return several results as one vector."""
    return jt.concat([jt.reshape(value, [-1]) for value in values], 0)


def np_outputs(*values: Any) -> Array:
    return np.concatenate([np.ravel(value) for value in values])


def distinct(*shape: int) -> Any:
    return lambda rng: ((rng.permutation(int(np.prod(shape))) * 0.2 - 1.1).reshape(shape),)
