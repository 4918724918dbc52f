"""Casts from floats to integers: what is out of range is defined, and the same interpreted and compiled."""

from __future__ import annotations

import numpy as np
import pytest

import jittape as jt

INF, NAN = np.inf, np.nan
TOP = 2**63 - 1

CASES = {
    "int8": {-1.5: -1, 127.9: 127, 128.0: -128, 300.0: 44, -129.0: 127, 1e30: -1, -1e30: 0, NAN: 0},
    "uint8": {-1.0: 255, 255.9: 255, 256.0: 0, 300.0: 44, INF: 255, -INF: 0, NAN: 0},
    "int16": {32768.0: -32768, -32769.0: 32767, INF: -1, -INF: 0, NAN: 0},
    "uint16": {-1.0: 65535, 65536.0: 0, INF: 65535, -INF: 0, NAN: 0},
    "int32": {2.0**31: 2**31 - 1, -(2.0**31) - 1: -(2**31), INF: 2**31 - 1, -INF: -(2**31), NAN: 0},
    "uint32": {-1.0: 2**32 - 1, 2.0**32: 0, 2.0**33 + 7: 7, INF: 2**32 - 1, -INF: 0, NAN: 0},
    "int64": {2.0**63: TOP, -(2.0**63): -TOP - 1, 2.0**62: 2**62, INF: TOP, -INF: -TOP - 1, NAN: 0},
    "uint64": {-1.0: 2**64 - 1, 2.0**63: 2**63, 2.0**64: 2**64 - 1, INF: 2**64 - 1, -INF: 2**63, NAN: 0},
}


@pytest.mark.parametrize("dtype", CASES)
@pytest.mark.parametrize("source", ["float64", "float32", "float16"])
def test_out_of_range(dtype, source, mode):
    known = {}
    for value, expected in CASES[dtype].items():
        with np.errstate(over="ignore"):
            narrow = np.dtype(source).type(value)
        if float(narrow) == value or np.isnan(value):
            known[value] = expected
    x = jt.constant(np.array(list(known), source))
    for _ in range(3):
        assert jt.cast(x * 1, dtype).tolist() == list(known.values())


@pytest.mark.parametrize("dtype", CASES)
def test_a_python_float_is_cast_as_an_array_is(dtype, mode):
    for value, expected in CASES[dtype].items():
        for _ in range(2):
            assert jt.cast(value, dtype).tolist() == expected


def test_a_function_casts_a_float_of_any_size():
    cast = jt.function(lambda x: jt.cast(x, jt.int32))
    for value, expected in ((1.5, 1), (1e30, 2**31 - 1), (NAN, 0), (-2.5, -2)):
        assert cast(value).tolist() == expected
