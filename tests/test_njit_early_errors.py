"""Errors that a gradient of Numba code raises when it is made, before any argument is known."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numba as nb
import numpy as np
import pytest

import jittape as jt

TABLE = np.ones(3) * 1j


def plain(x: Any) -> Any:
    return x * 2


@nb.njit
def with_try(x):
    try:
        y = x * x
    except Exception:
        y = 0.0
    return y


@nb.njit
def in_object_mode(x):
    with nb.objmode(y="float64"):
        y = float(x)
    return y * x


@nb.njit
def generated(x):
    yield x


@nb.njit
def of_a_generator(x):
    total = 0.0
    for value in generated(x):
        total += value
    return total


@nb.njit
def recursive(x):
    if x < 1.0:
        return x
    return recursive(x - 1.0) * x


@nb.njit
def factorial(n, x):
    if n == 0 or not x > 0.0:
        return x
    return factorial(n - 1, x) * n


@nb.njit
def cascade(x):
    return cascade(x * 0.5) if math.fabs(x) > 1.0 else x


@nb.njit
def one_of_two(x):
    return other_of_two(x) * 2.0


@nb.njit
def other_of_two(x):
    return one_of_two(x - 1.0) if x > 1.0 else x


@nb.njit
def of_python(x):
    y = x
    for i in range(3):
        if x > i:
            y = plain(x) * y
    return y


@nb.njit
def of_an_unknown_name(x):
    return unknown(x)  # type: ignore[name-defined]  # noqa: F821


@nb.njit
def with_a_list(x):
    values = [x, x]
    values.append(x)
    return values[2]


@nb.njit
def with_a_comprehension(x):
    return sum([x * i for i in range(3)])


@nb.njit
def of_a_table(x):
    return x * TABLE[0].real


@nb.njit
def calls_one_with_try(x):
    return with_try(x) * 2


@nb.njit  # noqa: RET503
def without_a_value(x):
    if x > 0:
        return x


@nb.njit("float64(int64)")
def of_an_int(n):
    return n * 2.0


@nb.njit("float64[:](float64[:])")
def of_no_number(x):
    return x * 2


@nb.njit
def of_an_attribute_of_a_sum(x):
    return (x - 1.0).ctypes.data + x


@nb.njit
def of_an_attribute_of_a_new_array(x):
    return np.ones(3).base + x


@nb.njit
def with_an_attribute_that_is_set(x):
    y = np.zeros(3)
    y.flags = 1
    return x + y[0]


@nb.njit
def of_a_method_of_a_sum(x):
    return (x - 1.0).tobytes()[0] * x


@nb.njit
def of_another_form(x):
    return np.sum(np.ones(3) * x, where=True)


@nb.njit
def of_another_form_of_a_method(x):
    return (x - 1.0).sum(where=True)


@nb.njit
def of_another_form_of_a_ufunc(x):
    return np.sin(x, where=True)


@nb.njit
def of_complex_numbers(x):
    return abs(x + 2j)


@nb.njit
def with_del_on_a_path(x):
    y = x * 2.0
    if y > 1.0:
        del y
        return x
    return y


@nb.njit
def with_a_starred_variable(x):
    first, *rest = (x, 2.0 * x, 3.0)
    return first * rest[0]


@nb.njit
def with_a_starred_variable_in_a_loop(x):
    total = 0.0
    for first, *_ in ((x, 1.0, 2.0), (x, 3.0, 4.0)):
        total += first
    return total


REFUSED = [
    (with_del_on_a_path, "`del y`: the statement Delete is not supported. Remove the statement"),
    (with_a_starred_variable, "`*rest`: a variable with a star cannot be assigned. Slice the tuple"),
    (with_a_starred_variable_in_a_loop, "`*_`: a variable with a star cannot be assigned. Slice the tuple"),
    (of_complex_numbers, "`2j`: complex numbers are not supported. Use real and imaginary parts"),
    (of_an_attribute_of_a_sum, "`(x - 1.0).ctypes`: the attribute ctypes is not supported. Rewrite it"),
    (of_an_attribute_of_a_new_array, "`np.ones(3).base`: the attribute base is not supported. Rewrite it"),
    (with_an_attribute_that_is_set, "`y.flags`: only variables and elements of arrays can be assigned"),
    (of_a_method_of_a_sum, "`(x - 1.0).tobytes()`: the method tobytes is not supported. Rewrite it"),
    (of_another_form, "where=True)`: this form of sum is not supported. Write a loop"),
    (of_another_form_of_a_method, "where=True)`: this form of the method sum is not supported. Write a loop"),
    (of_another_form_of_a_ufunc, "`np.sin(x, where=True)`: this form of sin is not supported. Write a loop"),
    (with_try, "`try:`: the statement Try is not supported. Test the condition with `if`"),
    (in_object_mode, "the statement With is not supported. Compute the value before"),
    (of_a_generator, "`generated`: a generator has no gradient. Return the values in an array"),
    (recursive, "`recursive(x - 1.0)`: recursion is not supported. Write a loop"),
    (factorial, "`factorial(n - 1, x)`: recursion is not supported. Write a loop"),
    (cascade, "`cascade(x * 0.5)`: recursion is not supported. Write a loop"),
    (one_of_two, "`one_of_two(x - 1.0)`: recursion is not supported. Write a loop"),
    (of_python, "`plain(x)`: the derivative of plain is unknown. Rewrite it with loops"),
    (of_an_unknown_name, "`unknown`: the name unknown is not defined. Define it before"),
    (with_a_list, "`values.append(x)`: the method append is not supported. Use arrays"),
    (with_a_comprehension, "ListComp expressions are not supported. Fill an array in a loop"),
    (of_a_table, "`TABLE`: a global or closure variable of type ndarray. Pass it as an argument"),
    (calls_one_with_try, "`try:`: the statement Try is not supported. Test the condition with `if`"),
    (without_a_value, "`return x`: another path returns None. Return a value on every path"),
    (of_an_int, "the argument n is int64; only floats and arrays of floats have gradients. Pass a float"),
    (of_no_number, "it returns array(float64, 1d, C), but the result must be a float. Return one float"),
]


@pytest.mark.parametrize(("function", "text"), REFUSED, ids=lambda one: getattr(one, "__name__", ""))
@pytest.mark.parametrize("make", [jt.njit_grad, jt.njit_value_and_grad, jt.njit_hvp])
def test_the_gradient_is_refused_when_it_is_made(function: Any, text: str, make: Callable[..., Any]) -> None:
    with pytest.raises((jt.errors.NoGradientError, TypeError), match=re.escape(text)) as caught:
        make(function)
    assert re.search(r"test_njit_early_errors\.py:\d+: ", str(caught.value))


@nb.njit
def of_the_rank(x):
    if x.ndim == 2 or x.shape[0] == 0:
        return of_the_rank(x[0])
    return np.sum(x * x)


@nb.njit
def types_decide(x, option=None):
    if option is not None:
        try:
            x = x * option
        except Exception:
            x = 0.0
    if False:
        unknown(x)  # type: ignore[name-defined]  # noqa: F821
    return x * x


@nb.njit
def helper_comes_later(x):
    return helper(x) * later.cos(x - x)


GRADIENT = jt.njit_grad(helper_comes_later)

import math as later  # noqa: E402


@nb.njit
def helper(x):
    return x * x


@nb.njit(["float64(int64)", "float64(float64)"])
def of_either(x):
    return x * 3.0


class Fields(NamedTuple):
    """Fields with names of attributes that arrays have and gradients do not support."""

    data: float
    base: float


@nb.njit
def of_fields(x, fields):
    return (Fields(x, x).data + fields.data) * fields.base + Fields(x, 2.0).base


def test_what_types_or_later_lines_decide_is_not_refused() -> None:
    assert jt.njit_grad(of_fields)(3.0, Fields(1.0, 2.0)) == 2.0
    assert jt.njit_grad(types_decide)(3.0) == 6.0
    jt.njit_grad(of_the_rank)
    assert GRADIENT(2.0) == 4.0
    assert jt.njit_grad(of_either)(2.0) == 3.0
