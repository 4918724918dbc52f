"""The names of ``tf.autograph.experimental`` that programs use. They change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["do_not_convert", "set_loop_options"]


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """Return `func`, or this function as a decorator: there is no AutoGraph that could convert `func`.

    Parameters
    ----------
    func : callable, optional
        Without it, a decorator is returned.

    Examples
    --------
    >>> import jittape as jt
    >>> @jt.autograph.experimental.do_not_convert
    ... def double(x):
    ...     return 2 * x
    >>> double(3)
    6
    """
    return do_not_convert if func is None else func


def set_loop_options(
    parallel_iterations: Any = None,
    swap_memory: Any = None,
    maximum_iterations: Any = None,
    shape_invariants: Any = None,
) -> None:
    """Do nothing: a Python loop in a traced function is unrolled, and its shapes may change.

    Parameters
    ----------
    parallel_iterations, swap_memory, shape_invariants
        Accepted for compatibility with TensorFlow.
    maximum_iterations
        Must be None.

    Raises
    ------
    ValueError
        If `maximum_iterations` is given: a Python loop does not end there.

    Examples
    --------
    >>> import jittape as jt
    >>> total = jt.constant(0.0)
    >>> for i in range(3):
    ...     jt.autograph.experimental.set_loop_options(parallel_iterations=1)
    ...     total += float(i)
    >>> float(total)
    3.0
    """
    if maximum_iterations is not None:
        raise ValueError(
            "[set_loop_options] maximum_iterations would not end a Python loop: put the bound into the loop, or use "
            f"jt.while_loop(..., maximum_iterations={maximum_iterations})"
        )


def __dir__() -> list[str]:
    return __all__
