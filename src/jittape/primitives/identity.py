"""Ops whose gradient differs from that of their arithmetic: identity, stop_gradient, custom gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jittape.core.forms import Map
from jittape.core.primitive import Primitive, apply
from jittape.core.program import Aval
from jittape.primitives.broadcast import as_symbol

if TYPE_CHECKING:
    from jittape.typing import Tensor, TensorLike

__all__ = ["custom_gradient_op", "identity", "identity_n", "identity_op", "stop_gradient", "stop_gradient_op"]

identity_op = Primitive(
    "identity",
    abstract_eval=lambda x: x,
    impl=lambda x: x,
    vjp=(lambda g, out, x: g,),
    lowering=Map(lambda m, x: x),
    promote_args=lambda x: (as_symbol(x),),
    simplified=lambda op, producers: op.args[0],
    any_dtype=True,
    is_identity=True,
)


def identity(input: TensorLike, name: str | None = None) -> Tensor:
    """Return a new tensor with the same value.

    For a Variable, the tensor has its current value.

    Parameters
    ----------
    input : tensor_like
        Any shape and dtype.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> import jittape as jt
    >>> v = jt.Variable(1.0)
    >>> before = jt.identity(v)
    >>> _ = v.assign(2.0)
    >>> float(before)
    1.0
    """
    result: Tensor = apply(identity_op, (input,))
    return result


def identity_n(input: Sequence[TensorLike], name: str | None = None) -> list[Tensor]:
    """Return new tensors with the values of a list.

    Parameters
    ----------
    input : sequence of tensor_like
        Tensors of any shapes and dtypes.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> import jittape as jt
    >>> [t.tolist() for t in jt.identity_n([1.0, [2.0, 3.0]])]
    [1.0, [2.0, 3.0]]
    """
    if not isinstance(input, (list, tuple)):
        raise TypeError(f"[identity_n] input must be a list of tensors, got {input!r}")
    return [identity(x) for x in input]


stop_gradient_op = Primitive(
    "stop_gradient",
    abstract_eval=lambda x: x,
    impl=lambda x: x,
    lowering=Map(lambda m, x: x),
    promote_args=lambda x: (as_symbol(x),),
    gradient_stops="it makes a value a constant",
    simplified=lambda op, producers: op.args[0],
    any_dtype=True,
    is_identity=True,
)


def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the value as a constant: no gradient flows through it.

    Parameters
    ----------
    input : tensor_like
        Any shape and dtype.
    name : str, optional
        Ignored.

    Examples
    --------
    >>> import jittape as jt
    >>> x = jt.Variable(3.0)
    >>> with jt.GradientTape() as tape:
    ...     y = x * jt.stop_gradient(x)
    >>> float(tape.gradient(y, x))
    3.0
    """
    result: Tensor = apply(stop_gradient_op, (input,))
    return result


def _custom_abstract_eval(y: Aval, *operands: Aval, index: int, count: int) -> Aval:
    return y


def _custom_impl(y: Any, *operands: Any, index: int, count: int) -> Any:
    return y


custom_gradient_op = Primitive(
    "custom_gradient",
    abstract_eval=_custom_abstract_eval,
    impl=_custom_impl,
    simplified=lambda op, producers: op.args[0],
    any_dtype=True,
    calls_back=True,
)
"""Result number `index` of the `count` results of a user's function with a custom gradient.

The first operand is the computed result. The others are the operands of the function, which receive the cotangents. The
`count` ops of one call have consecutive slots.
"""
