"""Transformations and loops of each library, under one set of names, so that a program is written once.

A library without compiled loops runs Python's. All derivatives of a program go through `Library`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["LIBRARIES", "Library"]


class Library:
    """NumPy: values only, and the loops of Python, which PyTorch and autograd share."""

    xp: Any = np

    def array(self, value: Any) -> Any:
        return np.asarray(value)

    def numpy(self, value: Any) -> Any:
        return np.asarray(value)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def value_and_grad(self, function: Callable[..., Any], count: int = 1) -> Callable[..., Any]:
        """Value, and a list of gradients with respect to the first `count` arguments."""
        raise NotImplementedError

    def value_and_slope(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Value and gradient of a function of one short vector that contains loops of unknown length."""
        both = self.value_and_grad(function)

        def result(x: Any) -> Any:
            value, (slope,) = both(x)
            return value, slope

        return result

    def grad(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        both = self.value_and_grad(function)
        return lambda x: both(x)[1][0]

    def hessian_times_ones(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Gradient, and the product of the Hessian and a vector of ones: the gradient of the gradient's sum."""
        slope = self.grad(function)
        return lambda x: (slope(x), self.grad(lambda y: self.xp.sum(slope(y)))(x))

    def jacobian(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Jacobian of a long vector with respect to a short one, in forward mode where there is one."""
        raise NotImplementedError

    def jacobians_of_columns(self, function: Callable[[Any], Any], outputs: int) -> Callable[[Any], Any]:
        """Derivatives of vectors of results by the columns of the argument, which do not mix: a gradient each."""

        def result(x: Any) -> Any:
            slopes = [self.grad(lambda y, i=i: self.xp.sum(function(y)[i]))(x) for i in range(outputs)]
            return self.xp.stack(slopes, axis=0)

        return result

    def foldl(self, step: Callable[[Any, Any], Any], state: Any, elements: Any) -> Any:
        for element in elements:
            state = step(state, element)
        return state

    def repeat(self, step: Callable[[Any], Any], state: Any, count: int) -> Any:
        for _ in range(count):
            state = step(state)
        return state

    def while_loop(self, going: Callable[..., Any], step: Callable[..., Any], state: Any) -> Any:
        while going(*state):
            state = step(*state)
        return state


class Jittape(Library):
    def __init__(self) -> None:
        import jittape as jt
        from jittape import numpy

        self.jt, self.xp = jt, numpy

    def array(self, value: Any) -> Any:
        return self.jt.constant(value)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.jt.function(function)

    def value_and_grad(self, function: Callable[..., Any], count: int = 1) -> Callable[..., Any]:
        return self.jt.value_and_grad(function, argnums=tuple(range(count)))

    def hessian_times_ones(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: self.jt.jvp(self.jt.grad(function), [x], [self.xp.ones_like(x)])

    def jacobian(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return self.jt.jacobian(function, mode="forward")

    def foldl(self, step: Callable[[Any, Any], Any], state: Any, elements: Any) -> Any:
        return self.jt.foldl(step, elements, state)

    def repeat(self, step: Callable[[Any], Any], state: Any, count: int) -> Any:
        return self.jt.fori_loop(0, count, lambda _, value: step(value), state)

    def while_loop(self, going: Callable[..., Any], step: Callable[..., Any], state: Any) -> Any:
        return self.jt.while_loop(going, step, state)


class Jax(Library):
    def __init__(self) -> None:
        import jax

        self.jax_, self.xp = jax, jax.numpy

    def array(self, value: Any) -> Any:
        return self.xp.asarray(value)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        compiled = self.jax_.jit(function)
        return lambda *arguments: self.jax_.block_until_ready(compiled(*arguments))

    def value_and_grad(self, function: Callable[..., Any], count: int = 1) -> Callable[..., Any]:
        return self.jax_.value_and_grad(function, argnums=tuple(range(count)))

    def value_and_slope(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """In forward mode, the only one that JAX has for loops of unknown length."""

        def result(x: Any) -> Any:
            along = self.jax_.vmap(lambda direction: self.jax_.jvp(function, (x,), (direction,)))
            values, slope = along(self.xp.eye(x.shape[0]))
            return values[0], slope

        return result

    def hessian_times_ones(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: self.jax_.jvp(self.jax_.grad(function), (x,), (self.xp.ones_like(x),))

    def jacobian(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return self.jax_.jacfwd(function)

    def foldl(self, step: Callable[[Any, Any], Any], state: Any, elements: Any) -> Any:
        return self.jax_.lax.scan(lambda carry, x: (step(carry, x), None), state, elements)[0]

    def repeat(self, step: Callable[[Any], Any], state: Any, count: int) -> Any:
        return self.jax_.lax.fori_loop(0, count, lambda _, value: step(value), state)

    def while_loop(self, going: Callable[..., Any], step: Callable[..., Any], state: Any) -> Any:
        return self.jax_.lax.while_loop(lambda s: going(*s), lambda s: step(*s), state)


class Torch(Library):
    def __init__(self) -> None:
        import torch

        self.xp = torch

    def array(self, value: Any) -> Any:
        return self.xp.tensor(np.asarray(value))

    def numpy(self, value: Any) -> Any:
        return self.xp.as_tensor(value).detach().numpy()

    def value_and_grad(self, function: Callable[..., Any], count: int = 1) -> Callable[..., Any]:
        def result(*arguments: Any) -> Any:
            nested = any(a.requires_grad for a in arguments if self.xp.is_tensor(a))
            leaves = [a if a.requires_grad else a.detach().requires_grad_() for a in arguments[:count]]
            with self.xp.enable_grad():
                value = function(*leaves, *arguments[count:])
            slopes = self.xp.autograd.grad(value, leaves, create_graph=nested)
            return (value if nested else value.detach()), list(slopes)

        return result

    def jacobian(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return self.xp.func.jacfwd(function)


class Autograd(Library):
    def __init__(self) -> None:
        import autograd
        import autograd.numpy

        self.autograd_, self.xp = autograd, autograd.numpy

    def value_and_grad(self, function: Callable[..., Any], count: int = 1) -> Callable[..., Any]:
        return self.autograd_.value_and_grad(function, argnum=tuple(range(count)))

    def jacobian(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """In reverse mode: forward mode lacks rules that the programs need."""
        return self.autograd_.jacobian(function)


LIBRARIES = {"jittape": Jittape, "jax": Jax, "torch": Torch, "autograd": Autograd, "numpy": Library}
