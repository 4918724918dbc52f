"""`jt.sparse_jacobian`, `jt.sparse_hessian` and `jt.sparse_hvp`.

Start reading at `SparseDerivative`. The first call with arguments of some shapes prepares a `Plan`: the pattern, and a
compiled function of the elements. Later calls look the plan up and run the function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from jittape.core.config import config
from jittape.core.locks import rlock
from jittape.core.traced_scalar import static
from jittape.core.user_calls import as_function
from jittape.errors import ShapeError
from jittape.functions.signature import flatten_call, key_of
from jittape.recording.convert import convert_to_tensor
from jittape.recording.operators import Operators
from jittape.recording.tensor import Tensor
from jittape.recording.variable import Variable
from jittape.sparse.preparation import Plan, Request
from jittape.sparse.sparsity_pattern import FORMATS, SparsityPattern
from jittape.transforms.gradients import grad
from jittape.transforms.jacobians import hvp
from jittape.transforms.primals import as_host, is_recorded

__all__ = ["SparseDerivative", "sparse_hessian", "sparse_hvp", "sparse_jacobian"]

_JACOBIAN_METHODS = ("diagonals", "column", "row", "bidirectional")
_HESSIAN_METHODS = ("diagonals", "column", "star", "acyclic")


def sparse_jacobian(
    f: Callable[..., Any], argnums: int = 0, *, format: str = "csr", method: str | None = None
) -> SparseDerivative:
    """Return a function that computes the Jacobian of `f` as a sparse matrix.

    Parameters
    ----------
    f : callable
        Function that returns one tensor of real floats.
    argnums : int
        Number of the positional argument to vary, one array of real floats.
    format : {"csr", "csc", "coo"}
        Format of the matrix.
    method : {"diagonals", "column", "row", "bidirectional"}, optional
        How the elements are computed. ``"diagonals"`` computes only the values on the diagonals that the operations
        of `f` imply, as for a stencil. The others are colorings: a pass of differentiation computes the sum of several
        columns (forward mode) or rows (reverse mode) that have no elements in common, or some rows and the remaining
        columns. By default, diagonals if there are only a few, otherwise the coloring with the fewest passes.

    Returns
    -------
    SparseDerivative
        Function that takes the arguments of `f` and returns a SciPy sparse array of shape ``(value.size,
        argument.size)``. Rows and columns are in C order.

    Raises
    ------
    ValueError
        If `format` or `method` is unknown; when called, if `f` reads the value of a tensor, as in ``if x[0] > 0``, so
        that its pattern depends on the data, or if ``method="diagonals"`` does not apply.
    TypeError
        When called, if the argument or the value is not one array of real floats.

    Notes
    -----
    The pattern is found from the operations of `f`, once for arguments of given shapes and dtypes, integers and bools
    of given values. It holds for all values of the floats, and may contain elements that are always zero, but never
    lacks one. If the pattern is not sparse, `jacobian` is faster.

    Examples
    --------
    >>> import jittape as jt
    >>> import numpy as np
    >>> J = jt.sparse_jacobian(lambda x: x[1:] ** 2 - x[:-1])(np.array([1.0, 2.0, 3.0]))
    >>> J.toarray()
    array([[-1.,  4.,  0.],
           [ 0., -1.,  6.]])
    """
    return SparseDerivative("sparse_jacobian", f, argnums, format, method, _JACOBIAN_METHODS)


def sparse_hessian(
    f: Callable[..., Any], argnums: int = 0, *, format: str = "csr", method: str | None = None
) -> SparseDerivative:
    """Return a function that computes the Hessian of `f` as a sparse matrix.

    Parameters
    ----------
    f : callable
        Function that returns a real floating scalar.
    argnums, format
        See `sparse_jacobian`.
    method : {"diagonals", "column", "star", "acyclic"}, optional
        How the elements are computed; see `sparse_jacobian`. ``"star"`` and ``"acyclic"`` are colorings that use the
        symmetry of the Hessian. An acyclic coloring has the fewest passes, but computes elements from others by
        subtraction, which adds rounding errors. By default, diagonals if there are only a few, otherwise the better
        one of ``"star"`` and ``"column"``.

    Returns
    -------
    SparseDerivative
        Function that takes the arguments of `f` and returns a SciPy sparse array of shape ``(argument.size,
        argument.size)`` with both triangles.

    Raises
    ------
    ValueError, TypeError
        See `sparse_jacobian`.

    Examples
    --------
    >>> import jittape as jt
    >>> import numpy as np
    >>> def rosenbrock(x):
    ...     return jt.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
    >>> hessian = jt.sparse_hessian(rosenbrock)
    >>> hessian(np.ones(3)).toarray()
    array([[ 802., -400.,    0.],
           [-400., 1002., -400.],
           [   0., -400.,  200.]])
    >>> hessian.method(np.ones(3))
    'diagonals'
    """
    return SparseDerivative("sparse_hessian", f, argnums, format, method, _HESSIAN_METHODS)


def sparse_hvp(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that computes the product of the Hessian of `f` with a vector or a sparse matrix.

    Parameters
    ----------
    f : callable
        Function that returns a real floating scalar.

    Returns
    -------
    callable
        ``sparse_hvp(f)(x, v, *args, **kwargs)`` returns the Hessian of ``f(x, *args, **kwargs)`` with respect to `x`
        times `v`. If `v` has the shape of `x`, the product is one pass, as for `hvp`. If `v` is a matrix with
        ``x.size`` rows, dense or sparse, the sparse Hessian is computed once, and the product has the type of `v`.

    Raises
    ------
    ShapeError
        If `v` has another shape.

    Examples
    --------
    >>> import jittape as jt
    >>> import numpy as np
    >>> import scipy.sparse
    >>> product = jt.sparse_hvp(lambda x: jt.reduce_sum(x[1:] * x[:-1] ** 2))
    >>> product(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([4., 2.])
    >>> product(np.array([1.0, 2.0]), scipy.sparse.eye_array(2)).toarray()
    array([[4., 2.],
           [2., 0.]])
    """
    vector_product, matrix = hvp(f), sparse_hessian(f)

    @functools.wraps(f)
    def product(x: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        if np.shape(v) == np.shape(x) and not scipy.sparse.issparse(v):
            return vector_product(x, v, *args, **kwargs)
        if len(v.shape) != 2 or v.shape[0] != np.size(x):
            raise ShapeError(
                f"[sparse_hvp] v must have the shape {np.shape(x)} of x or be a matrix with {np.size(x)} rows, got "
                f"shape {tuple(v.shape)}"
            )
        return matrix(x, *args, **kwargs) @ v

    return product


class SparseDerivative:
    """Function that computes a sparse Jacobian or Hessian; returned by `sparse_jacobian` and `sparse_hessian`.

    Calling it returns a SciPy sparse array. It pickles if `f` does.
    """

    def __init__(
        self,
        name: str,
        f: Callable[..., Any],
        argnums: int,
        format: str,
        method: str | None,
        methods: Sequence[str],
    ) -> None:
        if format not in FORMATS:
            raise ValueError(f"[{name}] format must be one of {', '.join(FORMATS)}, got {format!r}")
        if method is not None and method not in methods:
            raise ValueError(f"[{name}] method must be one of {', '.join(methods)} or None, got {method!r}")
        if not isinstance(argnums, int) or isinstance(argnums, bool):
            raise TypeError(f"[{name}] argnums must be the number of one argument, got {argnums!r}")
        functools.update_wrapper(self, as_function("f", f), updated=())
        self._given = (name, f, argnums, format, method, methods)
        self._name = name
        is_symmetric = name == "sparse_hessian"
        of = grad(f, argnums, unconnected_gradients="zero") if is_symmetric else f
        self._request = Request(name, of, argnums, format, method, is_symmetric)
        self._plans: dict[Hashable, Plan] = {}
        self._lock = rlock()

    def __reduce__(self) -> Any:
        return SparseDerivative, self._given

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the sparse matrix at the given arguments."""
        if is_recorded():
            raise ValueError(
                f"[{self._name}] a SciPy matrix cannot be recorded by a tape or in a jt.function: use "
                "values(...), which returns the elements as a tensor, and pattern(...) outside"
            )
        args = self._with_varied_tensor(args)
        plan = self._plan(args, kwargs)
        return plan.pattern.matrix(_own_array(plan, plan.compiled(*args, **kwargs)))

    def values(self, *args: Any, **kwargs: Any) -> Any:
        """Return the elements of the matrix in the order of the pattern, an array of shape ``(nnz,)``.

        The result is a tensor if an argument is one. It can be recorded and differentiated.
        """
        args = self._with_varied_tensor(args)
        plan = self._plan(args, kwargs)
        if is_recorded():
            return plan.differentiable(*args, **kwargs)
        result = plan.compiled(*args, **kwargs)
        is_tensor = any([isinstance(leaf, Operators) for leaf in flatten_call(args, kwargs).leaves])
        return result if is_tensor else _own_array(plan, result)

    def pattern(self, *args: Any, **kwargs: Any) -> SparsityPattern:
        """Return the positions of the elements, for arguments as in a call."""
        return self._plan(self._with_varied_tensor(args), kwargs).pattern

    def method(self, *args: Any, **kwargs: Any) -> str:
        """Return how the elements are computed, for arguments as in a call: ``"diagonals"``, or a coloring."""
        return self._plan(self._with_varied_tensor(args), kwargs).method

    def _with_varied_tensor(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments, with a tensor in place of a number or Variable to vary, which a trace would read."""
        number = self._request.argnum
        x = args[number] if -len(args) <= number < len(args) else None
        if isinstance(x, Variable):
            value: Any = convert_to_tensor(x)
        elif isinstance(x, (float, np.floating)):
            value = np.asarray(x)
        else:
            return args
        changed = list(args)
        changed[number] = value
        return tuple(changed)

    def _plan(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Plan:
        call = flatten_call(args, kwargs)
        key = (call.structure, *[_key_of(leaf) for leaf in call.leaves])
        plan = self._plans.get(key)
        if plan is None:
            with self._lock:
                plan = self._plans.get(key) or self._request.plan(args, kwargs, call)
                self._plans[key] = plan
                while len(self._plans) > config.max_signatures:
                    del self._plans[next(iter(self._plans))]
        return plan

    def __repr__(self) -> str:
        return f"<{self._name} of {self._given[1]!r}>"


def _own_array(plan: Plan, result: Tensor) -> Any:
    """Return the elements as an array that the caller may write to.

    The result of a call is referenced nowhere else, unless it is a constant: a copy of 120,000 numbers takes 50 µs.
    """
    return np.asarray(result._computed().array.data) if plan.makes_new_elements else as_host(result)


def _key_of(leaf: Any) -> Hashable:
    """Return the key of an argument: shape and dtype of floats, and the value of integers and bools.

    A number of a traced function is restricted to its value, since a pattern may depend on it.
    """
    leaf = static(leaf)
    if isinstance(leaf, Operators):
        if leaf.aval.dtype.kind in "fc":
            return (leaf.aval.shape, leaf.aval.dtype.str, b"")
        leaf = leaf.numpy()
    if isinstance(leaf, np.ndarray):
        return (leaf.shape, leaf.dtype.str, b"" if leaf.dtype.kind in "fc" else leaf.tobytes())
    return (type(leaf), leaf) if isinstance(leaf, (int, np.integer, np.bool_)) else key_of(leaf)
