"""NumPy functions with rules of their own: linear algebra of LAPACK, and random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types

from jittape.numba_ad.lower.array_calls import as_array, as_shape
from jittape.numba_ad.lower.build_ir import Builder, constant
from jittape.numba_ad.lower.function_source import MissingResult, PythonObject
from jittape.numba_ad.scalar_rules import DRAWS, FUNCTIONS, Rule
from jittape.numba_ad.structured_ir import Array, Constant, Scalar, Value
from jittape.numba_ad.user_rules import ArrayRule

__all__ = ["RULE_CALLS"]


def _linear_algebra(name: str) -> Callable[..., Any]:
    """Return the lowering of a function of matrices that LAPACK computes."""
    function = getattr(np.linalg, name)

    def lower(builder: Builder, *operands: Any) -> Any:
        arrays = [as_array(builder, x) for x in operands]
        text = f"np.linalg.{name}({', '.join(f'{{{i}}}' for i in range(len(arrays)))})"
        vjp = f"{name}_vjp"
        if name == "solve":
            vjp = "solve_vector_vjp" if arrays[-1].type.ndim == 1 else "solve_matrix_vjp"
        result = builder.apply(ArrayRule(text, vjp, f"{name}_jvp"), function, arrays, name)
        if isinstance(result, Array):  # a branch that makes it needs its sizes before
            result.dims = [builder.dim(arrays[-1], axis) for axis in range(result.type.ndim)]
        return result

    return lower


def _sign_and_logarithm(builder: Builder, a: Any) -> tuple[Any, Any]:
    """Lower ``np.linalg.slogdet``."""
    array = as_array(builder, a)
    sign = builder.op(Rule("np.linalg.slogdet({0})[0]", np.linalg.det, (None,)), [array], "sign")
    rule = ArrayRule("np.linalg.slogdet({0})[1]", "logdet_vjp", "logdet_jvp")
    return sign, builder.apply(rule, np.linalg.det, [array], "logdet")


def _factors(names: dict[str, tuple[int, Any, str]], function: str, options: str = "") -> Callable[..., Any]:
    """Return the lowering of a factorization; `names` has the place, the function with the type and the sizes of rules.

    The sizes are those of the matrix, ``m`` and ``n``, or the smaller one, ``k``.
    """

    def lower(builder: Builder, a: Any) -> tuple[Any, ...]:
        array = as_array(builder, a)
        parts = []
        for name, (place, like, sizes) in names.items():
            text = f"np.ascontiguousarray(np.linalg.{function}({{0}}{options})[{place}])"
            rule = ArrayRule(text, f"{name}_vjp", f"{name}_jvp")
            part = builder.apply(rule, like, [array], name)
            known = {letter: builder.dim(array, axis) for axis, letter in enumerate("mn")}
            if "k" in sizes:
                known["k"] = builder.op(FUNCTIONS[min], list(known.values()), "size")
            part.dims = [known[letter] for letter in sizes]
            parts.append(part)
        return tuple(parts)

    return lower


_EIGENSYSTEM = {"eigvalsh": (0, np.linalg.eigvalsh, "n"), "eigenvectors": (1, np.ascontiguousarray, "nn")}
_GENERAL_EIGENSYSTEM = {
    "eigvals": (0, np.linalg.eigvalsh, "n"), "general_eigenvectors": (1, np.ascontiguousarray, "nn")
}  # fmt: skip
_SINGULAR = {
    "left_vectors": (0, np.ascontiguousarray, "mk"),
    "singular_values": (1, np.linalg.eigvalsh, "k"),
    "right_vectors": (2, np.ascontiguousarray, "kn"),
}
_ORTHOGONAL = {
    "orthogonal_factor": (0, np.ascontiguousarray, "mn"),
    "triangular_factor": (1, np.ascontiguousarray, "nn"),
}


def _singular(builder: Builder, a: Any, full_matrices: Any = None) -> tuple[Any, ...]:
    """Lower ``np.linalg.svd``; a full basis of the null space, which square matrices do not have, has no derivative."""
    if full_matrices is not None and not isinstance(full_matrices, Constant):
        raise builder.refusal("full_matrices must be a literal", "Write True or False.")
    array = as_array(builder, a)
    if full_matrices is None or full_matrices.value:
        reason = "the additional columns of the full svd of a matrix that is not square have no derivative"
        _require_sizes(builder, array, "!=", f"{reason}; pass full_matrices=False")
    return _factors(_SINGULAR, "svd", ", False")(builder, array)


def _orthogonal(builder: Builder, a: Any) -> tuple[Any, ...]:
    """Lower ``np.linalg.qr``; a wide matrix has no derivative here."""
    array = as_array(builder, a)
    _require_sizes(
        builder, array, "<", "the derivative of qr needs a matrix with at least as many rows as columns"
    )
    return _factors(_ORTHOGONAL, "qr")(builder, array)


def _require_sizes(builder: Builder, array: Array, refused: str, reason: str) -> None:
    """Raise an error when the code runs, for a matrix whose sizes compare as the text `refused`."""
    message = f"{builder.where.file}:{builder.where.line}: {reason}"
    sizes: list[Any] = [builder.dim(array, axis) for axis in (0, 1)]
    builder.effect(f"if {{0}} {refused} {{1}}: raise ValueError({message!r})", sizes)


def _pseudoinverse(builder: Builder, a: Any) -> Any:
    rule = ArrayRule("np.ascontiguousarray(np.linalg.pinv({0}))", "pinv_vjp", "pinv_jvp")
    array = as_array(builder, a)
    result = builder.apply(rule, np.ascontiguousarray, [array], "pinv")
    result.dims = [builder.dim(array, axis) for axis in (1, 0)]
    return result


_OTHER_RESULTS = (
    ("residuals", "np.sum((b - a @ x) ** 2), or its sum over the rows if b is a matrix"),
    ("rank", "np.linalg.matrix_rank(a)"),
    ("singular values", "np.linalg.svd(a, False)[1]"),
)
"""The other results of ``np.linalg.lstsq(a, b)``, and what computes them."""


def _least_squares(builder: Builder, a: Any, b: Any) -> tuple[Any, ...]:
    """Lower ``np.linalg.lstsq``, of whose results only the first one has a derivative."""
    arrays = [as_array(builder, x) for x in (a, b)]
    vjp = "lstsq_vector_vjp" if arrays[1].type.ndim == 1 else "lstsq_matrix_vjp"
    rule = ArrayRule("np.ascontiguousarray(np.linalg.lstsq({0}, {1})[0])", vjp, "lstsq_jvp")
    solution = builder.apply(rule, np.linalg.solve, arrays, "lstsq")
    solution.dims = [
        builder.dim(arrays[0], 1),
        *[builder.dim(arrays[1], i) for i in range(1, arrays[1].type.ndim)],
    ]
    return solution, *[
        PythonObject(MissingResult(f"the {name} of lstsq cannot be read in a gradient", f"Use {text}."))
        for name, text in _OTHER_RESULTS
    ]


def _drawn(function: Any, defaults: tuple[float, ...]) -> Callable[..., Any]:
    """Return the lowering of a random number, or of an array of them if a size follows the parameters."""
    rule = DRAWS[function]

    def lower(builder: Builder, *arguments: Any, size: Any = None) -> Any:
        count = len(rule.partials)
        parameters = [*arguments[:count], *map(constant, defaults[len(arguments[:count]) :])]
        sizes = arguments[count:] if size is None else (size,)
        if len(parameters) != count or len(sizes) > 1:
            raise builder.refusal(f"this form of {function.__name__} is not supported", "Draw in a loop.")
        if any(not isinstance(x, (Value, Constant)) for x in parameters):
            raise builder.refusal("the parameters of a distribution must be numbers", "Draw in a loop.")
        if not sizes:
            return builder.op(rule, parameters, function.__name__)
        return _draw_all(builder, rule, parameters, as_shape(builder, sizes[0]))

    return lower


def _draw_all(builder: Builder, rule: Rule, parameters: list[Any], dims: list[Scalar]) -> Array:
    kind = types.int64 if rule.function.__name__ in INTS else types.float64
    array = builder.alloc("draws", kind, dims)
    builder.nest(dims, lambda indices: builder.store(array, indices, builder.op(rule, parameters, "draw")))
    return array


def _drawn_with_sizes(function: Any) -> Callable[..., Any]:
    """Return the lowering of ``np.random.rand`` and ``randn``, whose arguments are sizes."""

    def lower(builder: Builder, *sizes: Any) -> Any:
        rule = DRAWS[function]
        if not sizes:
            return builder.op(rule, [], "draw")
        return _draw_all(builder, rule, [], as_shape(builder, tuple(sizes)))

    return lower


def _seeded(builder: Builder, seed: Any) -> PythonObject:
    builder.effect("np.random.seed({0})", [seed])
    return PythonObject(None)


DEFAULTS: dict[str, tuple[float, ...]] = {
    "random": (), "standard_normal": (), "standard_exponential": (), "standard_cauchy": (), "randint": (),
    "normal": (0.0, 1.0), "uniform": (0.0, 1.0), "gumbel": (0.0, 1.0), "laplace": (0.0, 1.0), "logistic": (0.0, 1.0),
    "lognormal": (0.0, 1.0), "exponential": (1.0,), "rayleigh": (1.0,), "weibull": (), "power": (), "pareto": (),
    "poisson": (1.0,), "binomial": (), "geometric": (),
}  # fmt: skip
"""Defaults of the last parameters of distributions."""

INTS = ("randint", "poisson", "binomial", "geometric")
"""Distributions of ints."""

RULE_CALLS: dict[Any, Callable[..., Any]] = {
    **{
        getattr(np.random, name): _drawn(getattr(np.random, name), defaults)
        for name, defaults in DEFAULTS.items()
    },
    **{
        getattr(np.random, name): _drawn(np.random.random, ()) for name in ("random_sample", "ranf", "sample")
    },
    np.random.rand: _drawn_with_sizes(np.random.random),
    np.random.randn: _drawn_with_sizes(np.random.standard_normal),
    np.random.seed: _seeded,
    **{
        getattr(np.linalg, name): _linear_algebra(name)
        for name in ("solve", "inv", "det", "cholesky", "eigvalsh", "eigvals")
    },
    np.linalg.eig: _factors(_GENERAL_EIGENSYSTEM, "eig"),
    np.linalg.slogdet: _sign_and_logarithm,
    np.linalg.eigh: _factors(_EIGENSYSTEM, "eigh"),
    np.linalg.svd: _singular,
    np.linalg.qr: _orthogonal,
    np.linalg.pinv: _pseudoinverse,
    np.linalg.lstsq: _least_squares,
}
"""Lowerings of NumPy functions with rules."""
