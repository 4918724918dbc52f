"""Generated gradients of ``@njit`` functions, run by Python: nothing is compiled, so many programs can be tested."""

import copy
import linecache

import numpy as np
from numba import TypingError

import jittape as jt
from jittape.numba_ad import gradient_of_dispatcher
from jittape.numba_ad.generated_module import import_lines
from random_njit import directional_difference, random_arguments, random_program, without_numba

ARGNUMS = (0, 1, 2)


def as_python(gradient, arguments):
    """Return the generated code for arguments like these as a Python function."""
    text = gradient.inspect(*arguments)
    name = text.split("(", 1)[0].removeprefix("def ")
    namespace = {}
    exec(import_lines(text), namespace)
    file = f"<{gradient.__name__}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), namespace)
    return namespace[name]


def interpreted(gradient, *arguments):
    """Return the result of the generated code, which may call functions that it imports, run by Python."""
    namespace = {}
    text = gradient.inspect(*arguments)
    exec(import_lines(text) + text, namespace)
    (name,) = [name for name in namespace if name.startswith(gradient.function.py_func.__name__)]
    return namespace[name](*copy.deepcopy(arguments))


def check_both_modes(function, arguments, seed, run=interpreted, primal=None):
    """Compare the gradients by two arrays with differences along each element, and with a tangent."""
    python = primal or function.py_func
    value, gradients = run(jt.njit_value_and_grad(function, argnums=(0, 1)), *arguments)
    np.testing.assert_allclose(value, python(*copies(arguments)), rtol=1e-10)
    for number, gradient in enumerate(gradients):
        for place in np.ndindex(gradient.shape):
            directions = [np.zeros_like(x) for x in arguments]
            directions[number][place] = 1.0
            expected, _ = directional_difference(
                lambda *shifted: python(*copies(shifted)), arguments, directions, 1e-5
            )
            np.testing.assert_allclose(gradient[place], expected, rtol=1e-6, atol=1e-6, err_msg=str(place))
    directions = [np.random.default_rng(seed).normal(size=x.shape) for x in arguments]
    _, tangent = run(jt.njit_jvp(function, argnums=(0, 1)), *directions, *arguments)
    slope = sum(np.sum(g * d) for g, d in zip(gradients, directions, strict=True))
    np.testing.assert_allclose(tangent, slope, rtol=1e-8)


def copies(arguments):
    return [x.copy(order="K") if isinstance(x, np.ndarray) else x for x in arguments]


def disagreement(function, arguments, seed, primal=None):
    """Compare the derivatives of a function in both modes with each other and with differences.

    Return a text about what differs, or None, and whether the function is smooth at the arguments. Python runs the
    generated code, unless a function of `math` raises an error where compiled code has inf or nan, as in
    ``math.sin(inf)``: then Numba compiles it.
    """
    primal = primal or function.py_func
    try:
        return _disagreement(function, primal, arguments, seed, as_python)
    except (ArithmeticError, ValueError):
        return _disagreement(function, primal, arguments, seed, lambda gradient, arguments: gradient)


def _disagreement(function, primal, arguments, seed, run):
    # The tangent of a number is a number: compiled code would take an array without dimensions for an array.
    directions = [np.random.default_rng(seed).normal(size=np.shape(arguments[i]))[()] for i in ARGNUMS]
    checkpoint = (None, "binomial", "sqrt", 1, 2)[seed % 5]
    gradient = gradient_of_dispatcher(function, ARGNUMS, "value_and_gradient", "test", False, checkpoint)
    reverse = run(gradient, arguments)
    forward = run(gradient_of_dispatcher(function, ARGNUMS, "jvp", "test", False), [*directions, *arguments])
    left = [copies(arguments) for _ in range(3)]
    try:
        expected = primal(*left[2])
    except (ArithmeticError, ValueError, IndexError):
        # Python raises where compiled code has inf or nan, as in math.sin(inf), or reads outside of an array.
        return None, False
    value, gradients = reverse(*left[0])
    forward_value, tangent = forward(*directions, *left[1])
    slope = sum(np.sum(g * d) for g, d in zip(gradients, directions, strict=True))
    if not np.allclose([value, forward_value], expected, rtol=1e-10, atol=1e-10, equal_nan=True):
        return f"value {value}, {forward_value} in forward mode, expected {expected}", True
    for position, one in enumerate(left[2]):
        for other in (left[0], left[1]):
            if not np.allclose(one, other[position], rtol=1e-10, atol=1e-10, equal_nan=True):
                return f"argument {position} holds {other[position]}, expected {one}", True
    if not abs(expected) < 1e100:  # products of cotangents overflow
        return None, False
    if not np.isfinite(slope) and (not np.isfinite(tangent) or overflows(primal, copies(arguments))):
        return None, False
    if not abs(slope - tangent) <= 1e-8 * (1 + abs(slope)):
        return f"reverse {slope}, forward {tangent}", True
    shift = [*directions, *[None] * (len(arguments) - len(ARGNUMS))]
    difference, smooth = directional_difference(
        lambda *shifted: primal(*copies(shifted)), arguments, shift, 1e-5
    )
    if smooth and abs(slope - difference) > 1e-4 * (1 + abs(difference)):
        near = [x if d is None else x + 1e-5 * d for x, d in zip(arguments, shift, strict=True)]
        _, other = forward(*directions, *copies(near))
        if abs(other - tangent) > 0.1 * abs(tangent):  # it oscillates, too fast for differences
            return None, False
        return f"reverse {slope}, difference {difference}", True
    return None, smooth


def overflows(primal, arguments):
    """Return whether a value of a program overflows, even if its result does not depend on it."""
    try:
        with np.errstate(over="raise"):
            primal(*arguments)
    except FloatingPointError:
        return True
    return False


def check_programs(seeds, program=random_program, arguments_of=random_arguments, may_refuse=False):
    """Check random programs; return the number of smooth ones. Programs may have names that no gradient follows."""
    smooth = 0
    for seed in seeds:
        function, text = program(seed)
        try:
            with np.errstate(all="ignore"):  # compiled code does not warn about overflows either
                found, is_smooth = disagreement(function, arguments_of(seed), seed, without_numba(text))
                if found is not None and may_refuse:
                    # NumPy copies in ``x[1:] *= x[:-1]``, and Numba does not.
                    found, is_smooth = disagreement(function, arguments_of(seed), seed, function)
        except jt.NoGradientError:
            if not may_refuse:
                raise
            continue
        assert found is None, f"seed {seed}: {found}\n{text}"
        smooth += is_smooth
    return smooth


def check_second_derivatives(function, text, arguments, seed):
    """Compare a product with the Hessian by one argument, run by Python, with differences of gradients.

    Return whether it could be compared: whether the gradient is smooth here, and no function of `math` raises.
    """
    argument = seed % len(ARGNUMS)
    direction = np.random.default_rng(seed).normal(size=np.shape(arguments[argument]))[()]
    gradient = as_python(jt.njit_grad(function, argnums=argument), arguments)
    product = as_python(jt.njit_hvp(function, argument), [direction, *arguments])

    def slope(*shifted):
        return np.sum(gradient(*copies(shifted)) * direction)

    directions = [direction if k == argument else None for k in range(len(arguments))]
    try:
        with np.errstate(all="ignore"):
            found = np.sum(product(direction, *copies(arguments)) * direction)
            expected, smooth = directional_difference(slope, arguments, directions, 1e-5)
    except (ArithmeticError, ValueError):
        return False
    smooth = smooth and abs(expected) < 1e100
    if smooth and "abs(" in text and not abs(found - expected) <= 1e-4 * (1.0 + abs(expected)):
        # The slope of `abs` is 0 at 0, so ``cos(abs(x))`` has another second derivative there than nearby.
        near = [a if d is None else a + 1e-5 * d for a, d in zip(arguments, directions, strict=True)]
        smooth = abs(np.sum(product(direction, *near) * direction) - expected) > 1e-3 * (1.0 + abs(expected))
    message = f"seed {seed}: {found}, difference {expected}\n{text}"
    assert not smooth or abs(found - expected) <= 1e-4 * (1.0 + abs(expected)), message
    return smooth


def check_compiled(function, text, arguments, seed):
    """Check that Numba's and Python's runs of the generated code of a program agree."""
    gradient = gradient_of_dispatcher(function, ARGNUMS, "value_and_gradient", "test", False)
    value, gradients = gradient(*copies(arguments))
    expected, others = as_python(gradient, arguments)(*copies(arguments))
    np.testing.assert_allclose(value, expected, rtol=1e-10, err_msg=f"seed {seed}\n{text}")
    for one, other in zip(gradients, others, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10, err_msg=f"seed {seed}\n{text}")


def check_float32(function, text, arguments, seed):
    """Check that compiled gradients by float32 arrays are those by float64 arrays, to float32 precision."""
    narrow = [x.astype(np.float32) if isinstance(x, np.ndarray) else x for x in arguments]
    wide = [x.astype(np.float64) if isinstance(x, np.ndarray) else x for x in narrow]
    try:
        function(*copies(narrow))
    except TypingError:  # a loop binds a name to arrays of both dtypes
        return
    gradient = gradient_of_dispatcher(function, ARGNUMS, "value_and_gradient", "test", False)
    value, gradients = gradient(*copies(narrow))
    expected, others = as_python(gradient, wide)(*copies(wide))
    np.testing.assert_allclose(value, expected, rtol=1e-3, atol=1e-4, err_msg=f"seed {seed}\n{text}")
    for argument, one, other in zip(narrow, gradients, others, strict=False):
        assert np.asarray(one).dtype == np.asarray(argument).dtype
        scale = 1e-3 * (1.0 + np.max(np.abs(other)))
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=scale, err_msg=f"seed {seed}\n{text}")
