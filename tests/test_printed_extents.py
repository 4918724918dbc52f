"""Texts of extents: a trace for all lengths prints None for a length, and no result depends on a text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jittape as jt

LENGTHS = (2, 3, 7, 101, 1, 1000)
SIGNATURE = [jt.TensorSpec([None, 3], jt.float64)]
texts: list[str] = []


def shape(x: Any) -> Any:
    print("tracing", x.shape, x.shape[0], sep=" ")
    return x * 2.0


def formatted(x: Any) -> Any:
    print(f"tracing {x.shape} and {x.shape[0]!r}", "%s" % x.shape[0], "{}".format(x.shape[0]))  # noqa: UP031, UP032
    return x * 2.0


def lines(x: Any) -> Any:
    if x.shape.rank == 2:
        print(
            "tracing",
            str(x.shape),
            [x.shape.as_list(), len(x.shape)],
            flush=True,
        )
    return x * 2.0


def tensor(x: Any) -> Any:
    print("tracing", x, repr(x))
    return x * 2.0


@pytest.mark.parametrize("python", [shape, formatted, lines, tensor])
def test_a_function_that_prints_its_lengths_is_traced_once(python: Any, capsys: Any) -> None:
    f = jt.function(python, input_signature=SIGNATURE)
    for n in LENGTHS:
        x = np.ones([n, 3])
        assert f(x).tolist() == (2.0 * x).tolist()
    assert f.trace_count == 1
    (printed,) = capsys.readouterr().out.splitlines()
    assert "None" in printed
    assert "101" not in printed


def kept(x: Any) -> Any:
    print(texts.append(f"{x.shape[0]}"))
    return x * float(texts[-1])


def kept_by_method(x: Any) -> Any:
    print(texts.append(str(x.shape[0])))
    return x * float(texts[-1])


def walrus(x: Any) -> Any:
    print(text := f"{x.shape[0]}")
    return x * float(text)


def assigned(x: Any) -> Any:
    text = f"{x.shape[0]}"
    print(text)
    return x * float(text)


def with_own_print(x: Any) -> Any:
    def print(*values: Any) -> None:
        texts.append("".join(map(str, values)))

    print(x.shape[0])
    return x * float(texts[-1])


def to_file(x: Any) -> Any:
    import io

    file = io.StringIO()
    print(x.shape[0], file=file)
    return x * float(file.getvalue())


def of_helper(x: Any) -> Any:
    def helper(n: Any) -> Any:
        texts.append(str(n))
        return n

    print(helper(x.shape[0]))
    return x * float(texts[-1])


def two_on_a_line(x: Any) -> Any:
    print("a"); texts.append(str(x.shape[0]))  # fmt: skip  # noqa: E702
    return x * float(texts[-1])


def modulo(x: Any) -> Any:
    print(texts.append("%s" % x.shape[0]))  # noqa: UP031
    return x * float(texts[-1])


def of_lambda(x: Any) -> Any:
    show = lambda n: texts.append(str(n)) or n  # noqa: E731
    print(show(x.shape[0]))
    return x * float(texts[-1])


PYTHONS = [
    kept,
    kept_by_method,
    walrus,
    assigned,
    with_own_print,
    to_file,
    of_helper,
    two_on_a_line,
    modulo,
    of_lambda,
]


@pytest.mark.filterwarnings("ignore::jittape.errors.FunctionWarning")
@pytest.mark.parametrize("python", PYTHONS)
def test_a_text_that_is_kept_has_the_length(python: Any) -> None:
    f = jt.function(python, input_signature=SIGNATURE)
    for n in LENGTHS:
        x = np.ones([n, 3])
        assert f(x).tolist() == (n * x).tolist()


def test_code_without_a_source_has_the_length() -> None:
    scope: dict[str, Any] = {}
    exec("def f(x):\n    print(x.shape[0])\n    return x * len(str(x.shape[0]))", scope)
    f = jt.function(scope["f"], input_signature=SIGNATURE)
    for n in (5, 1000):
        assert f(np.ones([n, 3])).tolist() == (len(str(n)) * np.ones([n, 3])).tolist()
