"""HIPS autograd's names: programs run with ``import jittape.autograd.numpy as np``.

Each call of a derivative runs the Python function and records its operations; equal calls run the same compiled
program. Arrays in give arrays out, in float64.

Examples
--------
>>> import jittape.autograd.numpy as np
>>> from jittape.autograd import grad
>>> def tanh(x):
...     return (1.0 - np.exp(-2.0 * x)) / (1.0 + np.exp(-2.0 * x))
>>> print(f"{grad(tanh)(1.0):.6f}")
0.419974
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.lazy_names import lazily as _lazily

if _TYPE_CHECKING:
    from jittape.autograd.differential_operators import checkpoint as checkpoint
    from jittape.autograd.differential_operators import elementwise_grad as elementwise_grad
    from jittape.autograd.differential_operators import grad as grad
    from jittape.autograd.differential_operators import grad_and_aux as grad_and_aux
    from jittape.autograd.differential_operators import grad_named as grad_named
    from jittape.autograd.differential_operators import holomorphic_grad as holomorphic_grad
    from jittape.autograd.differential_operators import multigrad_dict as multigrad_dict
    from jittape.autograd.differential_operators import value_and_grad as value_and_grad
    from jittape.autograd.extend import primitive as primitive
    from jittape.autograd.jacobian_operators import deriv as deriv
    from jittape.autograd.jacobian_operators import hessian as hessian
    from jittape.autograd.jacobian_operators import hessian_tensor_product as hessian_tensor_product
    from jittape.autograd.jacobian_operators import hessian_vector_product as hessian_vector_product
    from jittape.autograd.jacobian_operators import jacobian as jacobian
    from jittape.autograd.jacobian_operators import make_ggnvp as make_ggnvp
    from jittape.autograd.jacobian_operators import make_hvp as make_hvp
    from jittape.autograd.jacobian_operators import make_jvp as make_jvp
    from jittape.autograd.jacobian_operators import make_vjp as make_vjp
    from jittape.autograd.jacobian_operators import tensor_jacobian_product as tensor_jacobian_product
    from jittape.autograd.jacobian_operators import vector_jacobian_product as vector_jacobian_product

__all__ = [
    "checkpoint",
    "deriv",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "jacobian",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_vjp",
    "multigrad_dict",
    "primitive",
    "tensor_jacobian_product",
    "value_and_grad",
    "vector_jacobian_product",
]

__getattr__ = _lazily(
    __name__,
    {
        "jittape.autograd.differential_operators": (
            "checkpoint",
            "elementwise_grad",
            "grad",
            "grad_and_aux",
            "grad_named",
            "holomorphic_grad",
            "multigrad_dict",
            "value_and_grad",
        ),
        "jittape.autograd.jacobian_operators": (
            "deriv",
            "hessian",
            "hessian_tensor_product",
            "hessian_vector_product",
            "jacobian",
            "make_ggnvp",
            "make_hvp",
            "make_jvp",
            "make_vjp",
            "tensor_jacobian_product",
            "vector_jacobian_product",
        ),
        "jittape.autograd.builtins": ("builtins", "dict", "isinstance", "list", "tuple", "type"),
        "jittape.autograd.extend": ("extend", "primitive"),
        **{
            f"jittape.autograd.{name}": (name,)
            for name in ("core", "misc", "numpy", "scipy", "test_util", "tracer", "util")
        },
    },
)


def __dir__() -> list[str]:
    return __all__
