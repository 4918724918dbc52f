"""`jt.pytensor_op`: a function with its gradient as an op of PyTensor, for PyMC models."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from jittape.core.user_calls import as_function
from jittape.functions.function import Function
from jittape.functions.signature import TensorSpec
from jittape.interop.c_function import listed_specs
from jittape.interop.jax_function import jax_call
from jittape.interop.optional_library import imported
from jittape.numba_bridge.njit import check_specs, njit_function
from jittape.primitives.reduce.reductions import reduce_sum
from jittape.transforms.gradients import grad

__all__ = ["pytensor_op", "register"]

_JAX_MODE = "pytensor.link.jax.dispatch.basic"


def pytensor_op(f: Callable[..., Any], *specs: TensorSpec | Sequence[TensorSpec]) -> Any:
    """Return an op of PyTensor that computes a scalar function, with its gradient.

    PyTensor's C and Python modes call compiled code of jittape. In Numba mode, which nutpie uses for PyMC models, the
    kernels become a part of PyTensor's own function, without Python. In JAX mode, the function calls back to the host,
    as in `jax_call`. The op can be differentiated any number of times.

    Parameters
    ----------
    f : callable
        Function of tensors that returns a float of shape ``()``. Values from outside become constants.
    *specs : TensorSpec
        Shape and dtype of each argument, a real float dtype. A list of them may take their place. By default, they are
        the types of the variables that the op is called with.

    Returns
    -------
    pytensor.graph.op.Op or callable
        Op that takes one PyTensor variable for each argument; without specs, a function that calls such an op.

    Raises
    ------
    ImportError
        If PyTensor is not installed.
    TypeError
        If a spec is no `TensorSpec` of floats, or `f` returns anything but a real float of shape ``()``.
    ValueError
        If a spec, or the type of a variable, has an unknown extent.
    """
    imported("pytensor", "pytensor_op")
    as_function("f", f)
    given = listed_specs(specs)
    return _op(f, given) if given else partial(_call_by_types, f)


def _call_by_types(f: Callable[..., Any], *operands: Any) -> Any:
    """Return the result of an op for the types of the operands."""
    import pytensor.tensor as pt

    variables = [pt.as_tensor_variable(x) for x in operands]
    for number, variable in enumerate(variables):
        if None in variable.type.shape:
            raise ValueError(
                f"[pytensor_op] argument {number} has the shape {variable.type.shape}: give its variable a shape, or "
                "the op a jt.TensorSpec for each argument"
            )
    specs = [TensorSpec(variable.type.shape, variable.dtype) for variable in variables]
    return _op(f, tuple(specs))(*variables)


def _op(f: Callable[..., Any], specs: tuple[Any, ...]) -> Any:
    """Return the op of a function with arguments of these shapes and dtypes."""
    for spec in specs:
        if not isinstance(spec, TensorSpec) or spec.dtype.kind != "f":
            raise TypeError(f"[pytensor_op] the specs must be jt.TensorSpec of real floats, got {spec!r}")
    check_specs("pytensor_op", f, len(specs))
    found = (
        Function(f)
        .get_concrete_function(*[TensorSpec(s.aval.shape, s.dtype) for s in specs])
        .structured_outputs
    )
    if found is None:  # a warning has said where
        raise TypeError(
            "[pytensor_op] f needs the value of a tensor, but it is traced once: use jt.where, jt.cond, jt.while_loop "
            "or jt.scan there"
        )
    if not isinstance(found, TensorSpec) or tuple(found.shape) or found.dtype.kind != "f":
        raise TypeError(f"[pytensor_op] f must return one real float of shape (), it returned {found!r}")
    return _op_class()(f, specs, found.dtype.name, 0)


@cache
def _op_class() -> Any:
    """Return the class of ops; it exists once PyTensor is imported."""
    import pytensor.tensor as pt
    from pytensor.gradient import DisconnectedType
    from pytensor.graph.basic import Apply, Variable
    from pytensor.graph.op import Op
    from pytensor.link.numba.dispatch.basic import numba_funcify

    class TapeOp(Op):  # type: ignore[misc]
        """A function of jittape; or its gradients with respect to the first `gradients` arguments, unless that is 0."""

        __props__ = ("f", "specs", "result", "gradients")

        def __init__(
            self, f: Callable[..., Any], specs: tuple[TensorSpec, ...], result: str, gradients: int
        ) -> None:
            self.f, self.specs, self.result, self.gradients = f, specs, result, gradients
            wrt = tuple(range(gradients))
            self.function = grad(f, wrt, unconnected_gradients="zero") if gradients else f
            self._compiled = Function(self.function)

        def make_node(self, *operands: Any) -> Any:
            if len(operands) != len(self.specs):
                raise TypeError(f"[pytensor_op] expected {len(self.specs)} operands, got {len(operands)}")
            given = [
                pt.as_tensor_variable(x if isinstance(x, Variable) else np.asarray(x, spec.dtype.name))
                for x, spec in zip(operands, self.specs, strict=True)
            ]
            types = [pt.TensorType(spec.dtype.name, shape=tuple(spec.shape)) for spec in self.specs]
            given = [kind.filter_variable(x) for kind, x in zip(types, given, strict=True)]
            results = types[: self.gradients] or [pt.TensorType(self.result, shape=())]
            return Apply(self, given, [kind() for kind in results])

        def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
            found = self._compiled(*inputs)
            for place, x in zip(outputs, found if self.gradients else (found,), strict=True):
                place[0] = np.array(x.numpy())

        def grad(self, inputs: Any, cotangents: Any) -> Any:
            count = len(inputs)
            if not self.gradients:
                slopes = TapeOp(self.f, self.specs, self.result, count)(*inputs, return_list=True)
                return [cotangents[0] * slope for slope in slopes]
            wrt = [i for i, g in enumerate(cotangents) if not isinstance(g.type, DisconnectedType)]
            weights = [cotangents[i] for i in wrt]
            product = _GradientProduct(self.f, tuple(wrt))
            specs = (*self.specs, *[self.specs[i] for i in wrt])
            return TapeOp(product, specs, self.result, count)(*inputs, *weights, return_list=True)

    @numba_funcify.register(TapeOp)  # type: ignore[untyped-decorator]
    def numba_funcify_tape_op(op: Any, node: Any = None, **kwargs: Any) -> Any:
        import numba

        names = ", ".join(f"x{i}" for i in range(len(op.specs)))
        given = ", ".join(f"x{i}" if s.shape else f"x{i}.item()" for i, s in enumerate(op.specs))
        results = [
            f"found[{i}]" if spec.shape else f"np.asarray(found[{i}])"
            for i, spec in enumerate(op.specs[: op.gradients])
        ] or ["np.asarray(found)"]
        space = {"native": njit_function(op.function, *op.specs), "np": np}
        exec(f"def tape_op({names}):\n    found = native({given})\n    return {', '.join(results)}\n", space)
        return numba.njit(space["tape_op"])

    if _JAX_MODE in sys.modules:
        _register_for_jax(sys.modules[_JAX_MODE], TapeOp)
    return TapeOp


def register(module: Any) -> None:
    """Let PyTensor's JAX mode, whose dispatcher is in `module`, call the ops."""
    if _op_class.cache_info().currsize:
        _register_for_jax(module, _op_class())


def _register_for_jax(module: Any, op_class: Any) -> None:
    def jax_function(op: Any, **unused: Any) -> Any:
        if op.gradients != 1:
            return jax_call(op.function)
        return jax_call(lambda *args: op.function(*args)[0])

    module.jax_funcify.register(op_class, jax_function)


@dataclass(frozen=True)
class _GradientProduct:
    """Sum of the products of the gradients of `f` with respect to the arguments `wrt`, and one more argument each."""

    f: Callable[..., Any]
    wrt: tuple[int, ...]

    def __call__(self, *given: Any) -> Any:
        args, weights = given[: -len(self.wrt)], given[-len(self.wrt) :]
        slopes = grad(self.f, self.wrt, unconnected_gradients="zero")(*args)
        return sum([reduce_sum(w * slope) for w, slope in zip(weights, slopes, strict=True)])
