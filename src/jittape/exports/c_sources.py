"""Text of the header and of the test program of an exported library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jittape.core.dtypes import c_type

__all__ = ["CFunctionText", "Parameter", "c_type_of", "header", "test_program"]

_Array = np.ndarray[Any, Any]


def c_type_of(name: str, dtype: np.dtype[Any]) -> str:
    """Return the type in C of a parameter; raise `TypeError` if there is none."""
    found = c_type(dtype)
    if found is None:
        raise TypeError(
            f"[export] {name} has dtype {dtype.name}, for which C has no type: use floats of 32 or 64 bits, "
            "integers or bools"
        )
    return found


class Parameter(NamedTuple):
    """A pointer that a function takes: its name, what it points to, and values for the test."""

    name: str
    values: _Array
    is_input: bool

    @property
    def c_type(self) -> str:
        return c_type_of(self.name, self.values.dtype)

    @property
    def declaration(self) -> str:
        return f"{'const ' if self.is_input else ''}{self.c_type} *{self.name}"


class CFunctionText(NamedTuple):
    """An exported function: its symbol, its parameters, and what it computes."""

    symbol: str
    parameters: Sequence[Parameter]
    summary: str

    @property
    def prototype(self) -> str:
        return f"int32_t {self.symbol}({', '.join([p.declaration for p in self.parameters])})"


def header(name: str, functions: Sequence[CFunctionText], pattern: Any | None) -> str:
    """Return the header of a library; `pattern` is the Hessian's matrix in CSR format."""
    guard = f"{name.upper()}_H"
    lines = [
        f"#ifndef {guard}", f"#define {guard}", "", "#include <stdbool.h>", "#include <stdint.h>", "",
        "#ifdef __cplusplus", 'extern "C" {', "#endif", "",
        "/* Arrays are contiguous, the last index runs fastest, and must not overlap. All functions",
        "   return 0, 1 if an operation failed, or 2 without memory. Several threads may call them at once. */",
    ]  # fmt: skip
    for function in functions:
        shapes = "; ".join([f"{p.name}: {_shape(p.values)}" for p in function.parameters])
        lines += ["", f"/* {function.summary}. {shapes}. */", f"{function.prototype};"]
    if pattern is not None:
        rows, entries = len(pattern.indptr), len(pattern.indices)
        lines += [
            "", "/* The Hessian in the format CSR: the elements of row i are values[indptr[i]] to",
            "   values[indptr[i + 1] - 1], in the columns indices[...]. */",
            f"extern const int32_t {name}_hessian_indptr[{rows}];",
            f"extern const int32_t {name}_hessian_indices[{max(entries, 1)}];",
        ]  # fmt: skip
    return "\n".join([*lines, "", "#ifdef __cplusplus", "}", "#endif", "", f"#endif /* {guard} */", ""])


def test_program(name: str, functions: Sequence[CFunctionText]) -> str:
    """Return a program that calls each function once and compares its results with jittape's."""
    lines = [
        f"/* Compile: cc -o {name}_test {name}_test.c -L. -l{name} -lm -Wl,-rpath,. */", "#include <math.h>",
        "#include <stdio.h>", f'#include "{name}.h"', "",
        "static int differs(const char *what, int n, double found, double expected, double tolerance) {",
        "    if (found == expected || (isnan(found) && isnan(expected))) return 0;",
        "    if (fabs(found - expected) <= tolerance * (1.0 + fabs(expected))) return 0;",
        '    printf("%s[%d]: %.17g, expected %.17g\\n", what, n, found, expected);', "    return 1;", "}", "",
        "int main(void) {", "    int wrong = 0;",
    ]  # fmt: skip
    for number, function in enumerate(functions):
        names = []
        for parameter in function.parameters:
            variable = f"{parameter.name}_{number}"
            names.append(variable)
            size = max(parameter.values.size, 1)
            if parameter.is_input:
                values = _numbers(parameter.values)
                lines.append(f"    static const {parameter.c_type} {variable}[{size}] = {{{values}}};")
            else:
                lines.append(f"    static {parameter.c_type} {variable}[{size}];")
                lines.append(
                    f"    static const double {variable}_expected[{size}] = {{{_numbers(parameter.values)}}};"
                )
        lines.append(f"    if ({function.symbol}({', '.join(names)}) != 0) {{")
        lines.append(f'        printf("{function.symbol} failed\\n");\n        return 1;\n    }}')
        for parameter, variable in zip(function.parameters, names, strict=True):
            if not parameter.is_input:
                tolerance = 1e-9 if parameter.values.dtype == np.float64 else 1e-4
                lines.append(f"    for (int i = 0; i < {parameter.values.size}; i++)")
                lines.append(
                    f'        wrong += differs("{function.symbol} {parameter.name}", i, {variable}[i], '
                    f"{variable}_expected[i], {tolerance});"
                )
    lines += [
        '    printf(wrong ? "%d values differ\\n" : "all values agree\\n", wrong);',
        "    return wrong != 0;",
        "}",
        "",
    ]
    return "\n".join(lines)


def _shape(values: _Array) -> str:
    return " x ".join(map(str, values.shape)) or "one number"


def _numbers(values: _Array) -> str:
    if not values.size:
        return "0"
    if values.dtype.kind == "f":
        return ", ".join([_number(float(x)) for x in values.reshape(-1)])
    return ", ".join([str(int(x)) for x in values.reshape(-1)])


def _number(value: float) -> str:
    if np.isfinite(value):
        return repr(value)
    return "NAN" if np.isnan(value) else ("INFINITY" if value > 0 else "-INFINITY")
