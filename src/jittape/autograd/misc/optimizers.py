"""Optimizers as loops: `sgd`, `rmsprop` and `adam` on containers of numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jittape.autograd.misc.flatten import flatten

__all__ = ["adam", "rmsprop", "sgd", "unflatten_optimizer"]

Function = Callable[..., Any]


def _minimized(
    grad: Function, x0: Any, callback: Function | None, num_iters: int, step: Callable[[Any, Any, int], Any]
) -> Any:
    """Return `x0` after `num_iters` steps; ``step(x, g, i)`` returns the next vector."""
    x, unflatten = flatten(x0)
    for i in range(num_iters):
        gradient = grad(unflatten(x), i)
        if callback:
            callback(unflatten(x), i, gradient)
        x = step(x, flatten(gradient)[0], i)
    return unflatten(x)


def unflatten_optimizer(optimize: Function) -> Function:
    """Return an optimizer of containers, made of one of vectors.

    Parameters
    ----------
    optimize : callable
        ``optimize(grad, x, callback, ...)`` returns the vector that it ends with, from the vector `x`. ``grad(x, i)``
        and ``callback(x, i, g)`` take vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from jittape.autograd.misc.optimizers import unflatten_optimizer
    >>> @unflatten_optimizer
    ... def one_step(grad, x, callback=None, step_size=0.1):
    ...     return x - step_size * grad(x, 0)
    >>> one_step(lambda p, i: {"w": 2.0 * p["w"]}, {"w": np.array([1.0, 2.0])}, step_size=0.5)
    {'w': array([0., 0.])}
    """

    @functools.wraps(optimize)
    def of_containers(
        grad: Function, x0: Any, callback: Function | None = None, *args: Any, **kwargs: Any
    ) -> Any:
        x, unflatten = flatten(x0)
        of_vectors = callback and (lambda x, i, g: callback(unflatten(x), i, unflatten(g)))
        return unflatten(
            optimize(lambda x, i: flatten(grad(unflatten(x), i))[0], x, of_vectors, *args, **kwargs)
        )

    return of_containers


def sgd(
    grad: Function,
    x0: Any,
    callback: Function | None = None,
    num_iters: int = 200,
    step_size: float = 0.1,
    mass: float = 0.9,
) -> Any:
    """Minimize a function by stochastic gradient descent with momentum.

    Parameters
    ----------
    grad : callable
        ``grad(x, i)`` returns the gradient at `x` in iteration `i`, in the structure of `x`.
    x0 : float, ndarray or nested container of them
        Initial value.
    callback : callable, optional
        ``callback(x, i, g)`` is called in each iteration with the gradient `g`.
    num_iters : int, default 200
        Number of iterations.
    step_size : float, default 0.1
    mass : float, default 0.9
        Decay of the velocity, which is the moving average of the negative gradients.

    Returns
    -------
    same structure as `x0`

    Examples
    --------
    >>> import numpy as np
    >>> from jittape.autograd.misc.optimizers import sgd
    >>> sgd(lambda x, i: 2.0 * x, np.array([1.0]), num_iters=2, step_size=0.5, mass=0.0)
    array([0.])
    """
    velocity: Any = 0.0

    def step(x: Any, g: Any, i: int) -> Any:
        nonlocal velocity
        velocity = mass * velocity - (1.0 - mass) * g
        return x + step_size * velocity

    return _minimized(grad, x0, callback, num_iters, step)


def rmsprop(
    grad: Function,
    x0: Any,
    callback: Function | None = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 1e-8,
) -> Any:
    """Minimize a function by steps that are divided by the root of a moving average of squared gradients.

    Parameters
    ----------
    grad, x0, callback, num_iters, step_size
        See `sgd`; the default of `num_iters` is 100.
    gamma : float, default 0.9
        Decay of the average, which is 1 at first.
    eps : float, default 1e-8
        Number added to the root.

    Examples
    --------
    >>> import numpy as np
    >>> from jittape.autograd.misc.optimizers import rmsprop
    >>> rmsprop(lambda x, i: 2.0 * x, np.array([1.0]), num_iters=1, gamma=0.0, step_size=0.25, eps=0.0)
    array([0.75])
    """
    average: Any = 1.0

    def step(x: Any, g: Any, i: int) -> Any:
        nonlocal average
        average = gamma * average + (1 - gamma) * g**2
        return x - step_size * g / (average**0.5 + eps)

    return _minimized(grad, x0, callback, num_iters, step)


def adam(
    grad: Function,
    x0: Any,
    callback: Function | None = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
) -> Any:
    """Minimize a function by Adam (Kingma and Ba, ICLR 2015, algorithm 1).

    Parameters
    ----------
    grad, x0, callback, num_iters, step_size
        See `sgd`; the defaults are 100 iterations and steps of 0.001.
    b1, b2 : float, default 0.9 and 0.999
        Decay of the moving averages of the gradients and of their squares.
    eps : float, default 1e-8
        Number added to the root of the second average.

    Examples
    --------
    >>> import numpy as np
    >>> from jittape.autograd.misc.optimizers import adam
    >>> adam(lambda p, i: {"w": 2.0 * p["w"]}, {"w": np.array([1.0])}, num_iters=1, step_size=0.25)
    {'w': array([0.75])}
    """
    first: Any = 0.0
    second: Any = 0.0

    def step(x: Any, g: Any, i: int) -> Any:
        nonlocal first, second
        first = b1 * first + (1 - b1) * g
        second = b2 * second + (1 - b2) * g**2
        unbiased = second / (1 - b2 ** (i + 1))
        return x - step_size * (first / (1 - b1 ** (i + 1))) / (unbiased**0.5 + eps)

    return _minimized(grad, x0, callback, num_iters, step)


def __dir__() -> list[str]:
    return sorted(__all__)
