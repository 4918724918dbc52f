"""`jt.torch_function`: a function with its gradient as a function of PyTorch tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jittape.interop.optional_library import imported
from jittape.interop.value_and_pullback import value_and_pullback

__all__ = ["torch_function"]


def torch_function(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of PyTorch's CPU tensors that computes `f`, with its gradient in PyTorch's autograd.

    Parameters
    ----------
    f : callable
        Function of tensors that returns one tensor. It is compiled as a `jt.function`.

    Returns
    -------
    callable
        Function that takes and returns PyTorch tensors. It can be differentiated once.

    Raises
    ------
    ImportError
        If PyTorch is not installed.
    """
    torch = imported("torch", "torch_function")
    _, value, pullback = value_and_pullback(f)

    class TapeFunction(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            ctx.save_for_backward(*args)
            return torch.from_numpy(value(*map(_as_array, args)))

        @staticmethod
        @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
        def backward(ctx: Any, cotangent: Any) -> Any:
            found = pullback(_as_array(cotangent), *map(_as_array, ctx.saved_tensors))
            return tuple([None if g is None else torch.from_numpy(g) for g in found])

    return lambda *args: TapeFunction.apply(*args)


def _as_array(x: Any) -> Any:
    return x.detach().numpy() if hasattr(x, "detach") else x
