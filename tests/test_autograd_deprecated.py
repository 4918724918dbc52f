"""Deprecated names of autograd, and names of derived functions, in `jittape.autograd`."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import jittape.autograd as ag
import jittape.autograd.numpy as np
from jittape.autograd import extend
from jittape.autograd.tracer import getval
from jittape.autograd.util import quick_grad_check


def test_deprecated_rules_of_a_primitive() -> None:
    @extend.primitive
    def scaled(x: Any, y: Any, z: Any) -> Any:
        return numpy.asarray(x) * y + numpy.floor(z)

    with pytest.warns(DeprecationWarning, match="scaled.defvjp is deprecated"):
        scaled.defvjp(lambda g, ans, vs, gvs, x, y, z: numpy.ones(vs.shape) * numpy.ones(gvs.shape) * g * y)
    with pytest.warns(DeprecationWarning, match="scaled.defgrad is deprecated"):
        scaled.defgrad(lambda ans, x, y, z: lambda g: g * x, argnum=1)
    with pytest.warns(DeprecationWarning, match="scaled.defvjp_is_zero is deprecated"):
        scaled.defvjp_is_zero(argnums=(2,))
    found = [
        ag.grad(lambda *a: np.sum(scaled(*a)), i)(np.array([2.0]), np.array([5.0]), np.array([0.5]))
        for i in range(3)
    ]
    assert [float(g[0]) for g in found] == [5.0, 2.0, 0.0]


def test_quick_grad_check() -> None:
    with pytest.warns(DeprecationWarning, match="use jittape.autograd.test_util.check_grads"):
        quick_grad_check(lambda x, y, k=1: np.sin(x) * y * k, 0.5, (2.0,), {"k": 3})
    with pytest.warns(DeprecationWarning, match="quick_grad_check"), pytest.raises(AssertionError):
        quick_grad_check(lambda x: np.sin(x) + getval(x), 0.5)


def test_names_and_docstrings_of_derived_functions() -> None:
    def f(x: Any) -> Any:
        return np.sum(x**2)

    derived = ag.grad(f)
    assert derived.__name__ == "grad_of_f_wrt_argnum_0"
    assert derived.__doc__ == (
        "    grad of function f with respect to argument number 0. Takes the\n"
        "    same arguments as f but returns the grad.\n    "
    )
    assert ag.hessian_vector_product(f).__name__ == "grad_of_vector_dot_grad_wrt_argnum_0"
    assert ag.vector_jacobian_product(f).__name__ == "jacobian_of_vector_dot_fun_wrt_argnum_0"
    assert ag.make_ggnvp(f).__name__ == "_make_ggnvp_of_f_wrt_argnum_0"
