"""Temporaries of generated code that are used once become part of the statement that uses them."""

import pytest

from jittape.numba_ad.emit.join_temporaries import join_temporaries


def joined(*lines):
    """Return the lines of a function after joining, without their indentation by one level."""
    text = "\n".join(["def f(x, n):", *[f"    {line}" for line in lines]]) + "\n"
    return [line.removeprefix("    ") for line in join_temporaries(text).split("\n")[1:-1]]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["t = n - 1", "u = x[t]", "return u * (u + t)"], ["t = n - 1", "u = x[t]", "return u * (u + t)"]),
        (["t = n + 1", "u = t * 2", "return u"], ["return (n + 1) * 2"]),
        (["t = n", "x[t] += t", "return x[t]"], ["x[n] += n", "return x[n]"]),
        (["a = n - 1", "a -= n - 2", "x[0] = a", "return n"], ["x[0] = n - 1 - (n - 2)", "return n"]),
        (["t = n + 1", "n = 2", "return t + n"], ["t = n + 1", "n = 2", "return t + n"]),
        (["t = x[0]", "x[0] = 0.0", "return t"], ["t = x[0]", "x[0] = 0.0", "return t"]),
        (["t = x[0]", "x[1] += t", "return n"], ["x[1] += x[0]", "return n"]),
        (["t = x[0]", "touch(x)", "return t"], ["t = x[0]", "touch(x)", "return t"]),
        (["t = draw(n)", "x[0] = n", "return t"], ["t = draw(n)", "x[0] = n", "return t"]),
        (["t = x[n]", "return t.shape, t[0]"], ["t = x[n]", "return t.shape, t[0]"]),
        (["t = n + 1", "return 1"], ["return 1"]),
        (["t = n > 0", "if t:", "    x[0] = 1", "return n"], ["if n > 0:", "    x[0] = 1", "return n"]),
        (["t = n > 0", "if t: x[0] = 1", "return n"], ["if n > 0: x[0] = 1", "return n"]),
        (["t = n > 0", "if n: x[t] = 1", "return n"], ["t = n > 0", "if n: x[t] = 1", "return n"]),
        (
            ["if n:", "    t = n", "else:", "    x[0] = 1", "return n"],
            ["if n:", "    pass", "else:", "    x[0] = 1", "return n"],
        ),
        (
            ["t = n", "for i in range(n):", "    t = i", "return t"],
            ["t = n", "for i in range(n):", "    t = i", "return t"],
        ),
        (
            ["s = 0.0", "for i in range(n):", "    u = s + x[i]", "    s = u", "return s"],
            ["s = 0.0", "for i in range(n):", "    s = s + x[i]", "return s"],
        ),
        (
            [
                "while True:",
                "    c = n > 1",
                "    if not c: break",
                "    m = n // 2",
                "    n = m",
                "return n",
            ],
            ["while True:", "    if not n > 1: break", "    n = n // 2", "return n"],
        ),
        (
            ["t = x[0]", "raise_if(n, 'a  # b')  # kept: t", "x[1] = t  # kept: u", "return n"],
            ["t = x[0]", "raise_if(n, 'a  # b')  # kept: t", "x[1] = t  # kept: u", "return n"],
        ),
        (["t = n * 2", "x[1] = t  # kept: u", "return n"], ["x[1] = n * 2  # kept: u", "return n"]),
        (
            ["# 3: t = n", "t = n + 1", "# a.py:5: m = n", "m = n", "# 4: x[0] = t", "x[0] = t", "return n"],
            ["# 4: x[0] = t", "x[0] = n + 1", "return n"],
        ),
    ],
)
def test_join(lines, expected):
    assert joined(*lines) == expected


def test_statements_stay_readable():
    lines = [f"t{i} = x[{i}] * x[{i + 1}] + {f't{i - 1}' if i else '1.0'}" for i in range(12)]
    found = joined(*lines, "return t11")
    assert len(found) == 3
    assert max(map(len, found)) <= 100
