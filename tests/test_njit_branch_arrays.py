"""Second derivatives of arrays that branches make: inside loops, in branches of branches, before jumps."""

import linecache

import numpy as np
import pytest
from numba import njit

import jittape as jt
from njit_as_python import as_python, copies

VALUES = {
    "solve": "np.sum(np.linalg.solve(a, b * (i + 1.0)) ** 2)",
    "solve_matrix": "np.sum(np.linalg.solve(a, a.T * (i + b[0])) ** 3)",
    "cholesky": "np.sum(np.linalg.cholesky(a @ a.T * (1.0 + b[i] ** 2)) ** 3)",
    "local": "np.sum(np.sort(b) ** 3 * a[i])",
}
FORMS = {
    "once": "    i = 0\n    if b[0] > 0.0:\n        t = np.sin(t) + VALUE\n",
    "sum": """\
    for i in range(3):
        if b[i] > 0.0:
            t += VALUE
        else:
            t += b[i] ** 2
""",
    "while": "    i = 0\n    while i < 3:\n        if b[i] > 0.0:\n            t = np.sin(t) + VALUE\n        i += 1\n",
    "jumps": """\
    for i in range(3):
        if b[i] < -3.0:
            break
        if b[i] < 0.0:
            continue
        t = 0.1 * t * t + VALUE
""",
    "nested": """\
    for k in range(2):
        for i in range(3):
            if b[i] > 0.0:
                if b[i] < 0.9:
                    t = np.sin(t) + VALUE
                else:
                    t = t * t * 0.1 + VALUE
""",
}
A = np.eye(3) * 1.5 + 0.1 * np.arange(9.0).reshape(3, 3)
B = np.array([1.2, -1.0, 0.5])


def program(name, form):
    text = "import numba\nimport numpy as np\n@numba.njit\ndef f(a, b):\n    t = 0.3\n"
    text += FORMS[form].replace("VALUE", VALUES[name]) + "    return t + np.sum(b * b)\n"
    file = f"<array in a branch: {name}, {form}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace = {}
    exec(compile(text, file, "exec"), namespace)
    return namespace["f"]


def run(gradient, *arguments):
    return as_python(gradient, arguments)(*copies(arguments))


# One value in all forms, and each other one in two.
CASES = [
    *[("solve_matrix", form) for form in FORMS],
    ("solve", "sum"),
    ("solve", "nested"),
    ("cholesky", "once"),
    ("cholesky", "jumps"),
    ("local", "while"),
    ("local", "nested"),
]


@pytest.mark.parametrize(("name", "form"), CASES)
def test_products_with_the_hessian_are_differences_of_gradients(name, form):
    function = program(name, form)
    number = len(name + form) % 2
    direction = np.random.default_rng(0).normal(size=(A, B)[number].shape)

    def gradient(step):
        arguments = [A, B]
        arguments[number] = arguments[number] + step * direction
        return run(jt.njit_grad(function, number), *arguments)

    expected = (gradient(1e-5) - gradient(-1e-5)) / 2e-5
    product = run(jt.njit_hvp(function, number), direction, A, B)
    np.testing.assert_allclose(product, expected, rtol=1e-4, atol=1e-4 * (1 + np.abs(expected).max()))


def test_errors_of_second_derivatives_show_the_line_of_the_user():
    @njit
    def rule_without_jvp(x):
        return np.sqrt(x)

    @njit
    def vjp(g, out, x):
        return g / (2.0 * out)

    @njit
    def total(x):
        return np.sum(rule_without_jvp(x))

    jt.njit_rule(rule_without_jvp, vjp)
    with pytest.raises(
        jt.NoGradientError, match=r"test_njit_branch_arrays.py:\d+: `return np.sum\(rule_without_jvp"
    ):
        jt.njit_hvp(total)(np.ones(2), np.ones(2))
