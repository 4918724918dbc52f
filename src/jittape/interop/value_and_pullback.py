"""A compiled function and its pullback on arrays, for libraries that differentiate by calling back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jittape.core.user_calls import as_function
from jittape.functions.function import Function
from jittape.functions.signature import TensorSpec
from jittape.recording.convert import convert_to_tensor
from jittape.transforms.gradients import vjp

__all__ = ["ArrayFunction"]

_Array = np.ndarray[Any, Any]


class ArrayFunction:
    """A function of tensors, compiled, as a function of arrays.

    Parameters
    ----------
    f : callable
        Function of tensors that returns a tensor, or a tuple or list of tensors.

    Attributes
    ----------
    is_single : bool
        Whether `f` returns one tensor. It is known after the first call of `result_specs` or of the function.
    """

    is_single = True

    def __init__(self, f: Callable[..., Any]) -> None:
        self._f = as_function("f", f)
        self._compiled = Function(self._outputs)
        self._pullbacks: dict[tuple[tuple[int, ...], tuple[int, ...]], ArrayFunction] = {}

    def _outputs(self, *args: Any) -> tuple[Any, ...]:
        found = self._f(*args)
        self.is_single = not isinstance(found, (tuple, list))
        return tuple([convert_to_tensor(x) for x in ((found,) if self.is_single else found)])

    def result_specs(self, specs: Sequence[TensorSpec]) -> list[TensorSpec]:
        """Return shape and dtype of each result for arguments of these shapes and dtypes.

        Raises
        ------
        TypeError
            If the function cannot be compiled, so that they are unknown before a call.
        """
        found = self._compiled.get_concrete_function(*specs).structured_outputs
        if found is None:  # a warning has said where
            raise TypeError(
                f"[jax_call] {getattr(self._f, '__name__', 'f')} needs the value of a tensor, but JAX asks for the "
                "shapes of the results first: use jt.where, jt.cond, jt.while_loop or jt.scan there"
            )
        return [TensorSpec(x.shape, x.dtype) for x in found]

    def __call__(self, *arrays: Any) -> tuple[_Array, ...]:
        """Return one new array for each result."""
        return tuple([np.array(x.numpy()) for x in self._compiled(*arrays)])

    def pullback(self, results: Sequence[int], varied: Sequence[int]) -> ArrayFunction:
        """Return the function of ``(*cotangents, *args)`` that gives a gradient for each argument in `varied`.

        The cotangents are those of the numbered `results`. A gradient is zero if no such result depends on the
        argument. The function has a pullback of its own.
        """
        key = tuple(results), tuple(varied)
        if key not in self._pullbacks:

            def pulled(*given: Any) -> tuple[Any, ...]:
                cotangents, args = given[: len(results)], list(given[len(results) :])

                def of_varied(*values: Any) -> tuple[Any, ...]:
                    for i, value in zip(varied, values, strict=True):
                        args[i] = value
                    found = self._outputs(*args)
                    return tuple([found[i] for i in results])

                primals = [args[i] for i in varied]
                return tuple(vjp(of_varied, *primals, unconnected_gradients="zero")[1](cotangents))

            self._pullbacks[key] = ArrayFunction(pulled)
        return self._pullbacks[key]
