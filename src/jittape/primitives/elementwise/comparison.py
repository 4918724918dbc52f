"""Comparisons, logical operations, and selection by a condition: `where`."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from jittape.core.builder import literal
from jittape.core.dtypes import bool_, int64, uint64
from jittape.core.forms import Map
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.errors import DTypeError
from jittape.primitives.broadcast import broadcast, broadcast_operands, cast_to, promote, require_equal
from jittape.primitives.record_parts import UnlikeIntegers, common, comparable, logical, truth_of_kinds
from jittape.typing import Tensor, TensorLike

__all__ = [
    "STEP", "equal", "equal_op", "greater", "greater_equal", "less", "less_equal", "less_op", "logical_and",
    "logical_and_op", "logical_not", "logical_not_op", "logical_or", "logical_or_op", "logical_xor",
    "not_equal", "where", "where_op",
]  # fmt: skip

STEP = "a comparison is constant between its jumps"


# ---- comparisons -----------------------------------------------------------------------------------------------------

equal_op = Primitive(
    "equal",
    abstract_eval=truth_of_kinds("equal", "biufc"),
    impl=np.equal,
    lowering=Map(lambda m, x, y: m.equal(x, y)),
    promote_args=comparable("equal"),
    gradient_stops=STEP,
    is_equality=True,
)


def equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether ``x == y``, element by element.

    Parameters
    ----------
    x, y : tensor_like
        Shapes that broadcast. The dtypes are promoted.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.equal([1.0, 2.0], 2.0).numpy()
    array([False,  True])
    """
    try:
        return apply(equal_op, (x, y))
    except OverflowError:
        return _without_common_dtype(equal_op, x, y)


not_equal_op = Primitive(
    "not_equal",
    abstract_eval=truth_of_kinds("not_equal", "biufc"),
    impl=np.not_equal,
    lowering=Map(lambda m, x, y: m.not_equal(x, y)),
    promote_args=comparable("not_equal"),
    gradient_stops=STEP,
)


def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether ``x != y``, element by element; a nan differs from itself.

    Parameters
    ----------
    x, y : tensor_like
        Shapes that broadcast. The dtypes are promoted.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.not_equal([1.0, 2.0], 2.0).numpy()
    array([ True, False])
    """
    try:
        return apply(not_equal_op, (x, y))
    except OverflowError:
        return _without_common_dtype(not_equal_op, x, y)


less_op = Primitive(
    "less",
    abstract_eval=truth_of_kinds("less", "biuf"),
    impl=np.less,
    lowering=Map(lambda m, x, y: m.less(x, y)),
    promote_args=comparable("less"),
    gradient_stops=STEP,
)


def less(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether ``x < y``, element by element.

    Parameters
    ----------
    x, y : tensor_like
        Shapes that broadcast. The dtypes are promoted.

    Raises
    ------
    DTypeError
        If an argument is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.less([1.0, 2.0], 2.0).numpy()
    array([ True, False])
    """
    try:
        return apply(less_op, (x, y))
    except OverflowError:
        return _without_common_dtype(less_op, x, y)


less_equal_op = Primitive(
    "less_equal",
    abstract_eval=truth_of_kinds("less_equal", "biuf"),
    impl=np.less_equal,
    lowering=Map(lambda m, x, y: m.less_equal(x, y)),
    promote_args=comparable("less_equal"),
    gradient_stops=STEP,
)


def less_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether ``x <= y``, element by element.

    Parameters
    ----------
    x, y : tensor_like
        Shapes that broadcast. The dtypes are promoted.

    Raises
    ------
    DTypeError
        If an argument is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.less_equal([1.0, 2.0, 3.0], 2.0).numpy()
    array([ True,  True, False])
    """
    try:
        return apply(less_equal_op, (x, y))
    except OverflowError:
        return _without_common_dtype(less_equal_op, x, y)


greater_op = Primitive(
    "greater",
    abstract_eval=truth_of_kinds("greater", "biuf"),
    impl=np.greater,
    lowering=Map(lambda m, x, y: m.greater(x, y)),
    promote_args=comparable("greater"),
    gradient_stops=STEP,
)


def greater(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether ``x > y``, element by element.

    Parameters
    ----------
    x, y : tensor_like
        Shapes that broadcast. The dtypes are promoted.

    Raises
    ------
    DTypeError
        If an argument is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.greater([1.0, 2.0, 3.0], 2.0).numpy()
    array([False, False,  True])
    """
    try:
        return apply(greater_op, (x, y))
    except OverflowError:
        return _without_common_dtype(greater_op, x, y)


greater_equal_op = Primitive(
    "greater_equal",
    abstract_eval=truth_of_kinds("greater_equal", "biuf"),
    impl=np.greater_equal,
    lowering=Map(lambda m, x, y: m.greater_equal(x, y)),
    promote_args=comparable("greater_equal"),
    gradient_stops=STEP,
)


def greater_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether ``x >= y``, element by element.

    Parameters
    ----------
    x, y : tensor_like
        Shapes that broadcast. The dtypes are promoted.

    Raises
    ------
    DTypeError
        If an argument is complex.
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> jt.greater_equal([1.0, 2.0, 3.0], 2.0).numpy()
    array([False,  True,  True])
    """
    try:
        return apply(greater_equal_op, (x, y))
    except OverflowError:
        return _without_common_dtype(greater_equal_op, x, y)


def _without_common_dtype(op: Primitive, x: Any, y: Any) -> Tensor:
    """Return the comparison of integers that no dtype of both holds, as NumPy does."""
    if isinstance(sys.exception(), UnlikeIntegers):
        return apply(_of_unlike_integers, (x, y), (op,))
    number, other = (x, y) if type(x) is int else (y, x)
    dtype = getattr(other, "dtype", None)
    if type(number) is not int or dtype is None or dtype.kind not in "iu":
        raise
    sign = 1 if number > 0 else -1
    truth = op.impl(0, sign) if number is y else op.impl(sign, 0)
    return apply(_everywhere, (other,), (bool(truth),))


def _of_unlike_integers(x: Any, y: Any, op: Primitive) -> Any:
    """Compare as uint64, except where the signed integer is negative."""
    signed, if_negative = (x, op.impl(-1, 0)) if x.dtype.kind == "i" else (y, op.impl(0, -1))
    zero: Any = literal(0, signed.dtype)
    negative = less(signed, zero)
    compared = op.bind(*common(op.name)(cast_to(x, uint64), cast_to(y, uint64)))
    if if_negative:
        return logical_or(negative, compared)
    return logical_and(logical_not(negative), compared)


def _everywhere(x: Any, truth: bool) -> Any:
    return broadcast(cast_to(literal(int(truth), int64), bool_), x.shape)


# ---- logic -----------------------------------------------------------------------------------------------------------

logical_and_op = Primitive(
    "logical_and",
    abstract_eval=truth_of_kinds("logical_and", "b"),
    impl=np.logical_and,
    lowering=Map(lambda m, x, y: m.logical_and(x, y)),
    promote_args=logical("logical_and"),
    gradient_stops=STEP,
)


def logical_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether both elements are true; nonzero numbers are true.

    Parameters
    ----------
    x, y : tensor_like
        Shapes that broadcast. The dtypes are promoted.

    Examples
    --------
    >>> jt.logical_and([True, False], True).numpy()
    array([ True, False])
    """
    return apply(logical_and_op, (x, y))


logical_or_op = Primitive(
    "logical_or",
    abstract_eval=truth_of_kinds("logical_or", "b"),
    impl=np.logical_or,
    lowering=Map(lambda m, x, y: m.logical_or(x, y)),
    promote_args=logical("logical_or"),
    gradient_stops=STEP,
)


def logical_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether at least one of the elements is true; nonzero numbers are true.

    Parameters
    ----------
    x, y : tensor_like
        Shapes that broadcast. The dtypes are promoted.

    Examples
    --------
    >>> jt.logical_or([True, False], False).numpy()
    array([ True, False])
    """
    return apply(logical_or_op, (x, y))


logical_xor_op = Primitive(
    "logical_xor",
    abstract_eval=truth_of_kinds("logical_xor", "b"),
    impl=np.logical_xor,
    lowering=Map(lambda m, x, y: m.logical_xor(x, y)),
    promote_args=logical("logical_xor"),
    gradient_stops=STEP,
)


def logical_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return whether exactly one of the elements is true; nonzero numbers are true.

    Parameters
    ----------
    x, y : tensor_like
        Shapes that broadcast. The dtypes are promoted.

    Examples
    --------
    >>> jt.math.logical_xor([True, False], True).numpy()
    array([False,  True])
    """
    return apply(logical_xor_op, (x, y))


logical_not_op = Primitive(
    "logical_not",
    abstract_eval=truth_of_kinds("logical_not", "b"),
    impl=np.logical_not,
    lowering=Map(lambda m, x: m.logical_not(x)),
    promote_args=logical("logical_not"),
    gradient_stops=STEP,
)


def logical_not(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether each element is false; nonzero numbers are true.

    Parameters
    ----------
    x : tensor_like
        Any shape.

    Examples
    --------
    >>> jt.logical_not([True, False]).numpy()
    array([False,  True])
    """
    return apply(logical_not_op, (x,))


# ---- selection -------------------------------------------------------------------------------------------------------


def _where_abstract_eval(condition: Aval, x: Aval, y: Aval) -> Aval:
    if condition.dtype != bool_:
        raise DTypeError(f"[where] the condition must be bool, got {condition.dtype.name}")
    chosen = require_equal("where", x, y)
    require_equal("where", condition, Aval(chosen.shape, bool_))
    return chosen


def _where_promote_args(condition: Any, x: Any, y: Any) -> tuple[Any, ...]:
    return broadcast_operands(cast_to(condition, bool_), *promote(x, y), op="where")


where_op = Primitive(
    "where",
    abstract_eval=_where_abstract_eval,
    impl=np.where,
    vjp=(None, lambda g, out, c, x, y: where(c, g, 0), lambda g, out, c, x, y: where(c, 0, g)),
    lowering=Map(lambda m, c, x, y: m.where(c, x, y)),
    promote_args=_where_promote_args,
    linear=((1, 2),),
)


def where(condition: TensorLike, x: TensorLike, y: TensorLike) -> Tensor:
    """Return the elements of `x` where `condition` is true and those of `y` elsewhere.

    The public function, in `jittape.primitives.indexing.masks`, also finds coordinates.
    """
    return apply(where_op, (condition, x, y))
