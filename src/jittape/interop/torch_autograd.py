"""`jt.torch_function`: a function with its gradient as a function of PyTorch tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jittape.errors import DTypeError
from jittape.interop.optional_library import imported
from jittape.interop.value_and_pullback import ArrayFunction

__all__ = ["torch_function"]


def torch_function(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of PyTorch's CPU tensors that computes `f`, with its gradient in PyTorch's autograd.

    Parameters
    ----------
    f : callable
        Function of tensors that returns one tensor, or a tuple or list of tensors. It is compiled as a `jt.function`.

    Returns
    -------
    callable
        Function that takes PyTorch tensors, NumPy arrays and numbers, and returns a PyTorch tensor or a tuple of them.
        It can be differentiated any number of times, by ``backward`` and by ``torch.func``, whose ``vmap`` calls it for
        one element after the other. A tensor of dtype bfloat16 raises a `DTypeError`.

    Raises
    ------
    ImportError
        If PyTorch is not installed.
    """
    torch = imported("torch", "torch_function")
    function = ArrayFunction(f)
    of_tensors = _differentiable(torch, function)

    def called(*args: Any) -> Any:
        found = of_tensors(*args)
        return found[0] if function.is_single else found

    return called


def _differentiable(torch: Any, function: ArrayFunction) -> Callable[..., tuple[Any, ...]]:
    """Return a function of tensors that returns a tuple, with a gradient that is such a function too."""

    def as_array(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        if x.dtype == torch.bfloat16:
            raise DTypeError("[torch_function] NumPy arrays have no bfloat16: pass x.float()")
        return x.detach().resolve_conj().resolve_neg().numpy()

    class TapeFunction(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(*args: Any) -> Any:
            return tuple([torch.from_numpy(x) for x in function(*map(as_array, args))])

        @staticmethod
        def setup_context(ctx: Any, args: Any, found: Any) -> None:
            ctx.places = [i for i, x in enumerate(args) if isinstance(x, torch.Tensor)]
            ctx.others = [None if isinstance(x, torch.Tensor) else x for x in args]
            ctx.save_for_backward(*[args[i] for i in ctx.places])
            ctx.mark_non_differentiable(*[y for y in found if not _is_inexact(y)])
            ctx.outputs = [i for i, y in enumerate(found) if _is_inexact(y)]

        @staticmethod
        def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
            rows = []
            if not info.batch_size:
                raise ValueError(
                    "[torch_function] vmap needs at least one element: there are none to call f with"
                )
            for i in range(info.batch_size):
                row = [x if d is None else x.select(d, i) for x, d in zip(args, in_dims, strict=True)]
                rows.append(TapeFunction.apply(*row))
            return tuple(map(torch.stack, zip(*rows, strict=True))), (0,) * len(rows[0])

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            args = list(ctx.others)
            for i, x in zip(ctx.places, ctx.saved_tensors, strict=True):
                args[i] = x
            varied = [i for i, needed in enumerate(ctx.needs_input_grad) if needed]
            pullback = _differentiable(torch, function.pullback(ctx.outputs, varied))
            found = pullback(*[cotangents[i] for i in ctx.outputs], *args)
            gradients = dict(zip(varied, found, strict=True))
            return tuple([gradients.get(i) for i in range(len(args))])

    return lambda *args: TapeFunction.apply(*args)


def _is_inexact(x: Any) -> bool:
    return bool(x.is_floating_point() or x.is_complex())
