"""Names of ``autograd.util``: `subval`, `subvals`, and the deprecated `quick_grad_check`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from jittape.autograd.containers import subval as subval
from jittape.autograd.containers import subvals as subvals

__all__ = ["quick_grad_check", "subval", "subvals"]


def quick_grad_check(
    fun: Callable[..., Any],
    arg0: Any,
    extra_args: Any = (),
    kwargs: dict[str, Any] | None = None,
    verbose: bool = True,
    eps: float = 1e-4,
    rtol: float = 1e-4,
    atol: float = 1e-6,
    rs: Any = None,
) -> None:
    """Check the first derivative of a function; deprecated as in autograd, use `test_util.check_grads`.

    Parameters
    ----------
    fun : callable
        Function.
    arg0 : array, number or container
        First argument, which is varied.
    extra_args : tuple
        Further arguments.
    kwargs : dict, optional
        Keyword arguments.
    verbose, eps, rtol, atol, rs
        Without effect, as in autograd.

    Raises
    ------
    AssertionError
        If the derivative differs.
    """
    from jittape.autograd.test_util import check_grads

    text = "quick_grad_check is deprecated, as in autograd; use jittape.autograd.test_util.check_grads"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    check_grads(lambda x: fun(x, *extra_args, **(kwargs or {})), modes=["rev"], order=1)(arg0)


def __dir__() -> list[str]:
    return __all__
