"""Rows of the primitive table for random numbers, see `primitive_table.py`; the references use Python's ints."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jittape.primitives.elementwise import random_numbers as rn
from jittape.primitives.elementwise.bits import multiply_high
from primitive_table import Array, Row

MASK = 0xFFFFFFFF


def philox_words(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, ...]:
    """Return the four words of Philox 4x32-10, as in the paper by Salmon et al. (2011)."""
    c, (low, high) = list(counter), key
    for _ in range(10):
        first, second = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(second >> 32) ^ c[1] ^ low, second & MASK, (first >> 32) ^ c[3] ^ high, first & MASK]
        low, high = (low + 0x9E3779B9) & MASK, (high + 0xBB67AE85) & MASK
    return tuple(c)


def halves(block: int, stream: int, key: int) -> tuple[int, int]:
    """Return the two halves of 64 bits of a block."""
    w = philox_words((block & MASK, block >> 32, stream & MASK, stream >> 32), (key & MASK, key >> 32))
    return w[0] | w[1] << 32, w[2] | w[3] << 32


def elementwise(function: Any, dtype: str) -> Any:
    """Return an elementwise function of arrays that calls `function` with Python's numbers."""

    def reference(*arrays: Array) -> Array:
        rows = zip(*[np.ravel(x).tolist() for x in arrays], strict=True)
        return np.array([function(*row) for row in rows], dtype).reshape(arrays[0].shape)

    return reference


def normal(block: int, stream: int, key: int, bits: int = 53) -> float:
    low, high = halves(block, stream, key)
    unit = ((low >> (64 - bits)) + 1) / 2**bits
    unit = unit if bits == 53 else float(np.float32(unit))
    return math.sqrt(-2 * math.log(unit)) * math.cos(2 * math.pi * (high / 2**64))


def truncated_normal(block: int, stream: int, key: int, bits: int = 53) -> float:
    draws = (normal((block + (attempt << 56)) % 2**64, stream, key, bits) for attempt in range(256))
    return next(x for x in draws if abs(x) <= 2)


def words(shape: tuple[int, ...], count: int = 3) -> Any:
    """Return operands of all 64 bits."""
    return lambda rng: tuple(rng.integers(0, 2**64, shape, np.uint64) for _ in range(count))


ENDS = np.array([0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1], np.uint64)
PAIRS = tuple(np.array(x) for x in np.meshgrid(ENDS, ENDS))
EDGES = ((ENDS, ENDS, ENDS), (np.uint64(3),) * 3, (np.zeros((0, 2), np.uint64),) * 3)


def sampled(name: str, op: Any, reference: Any) -> tuple[Row, Row]:
    """Return rows for both dtypes of an op without parameters."""
    return tuple(
        Row(
            f"{name} {dtype}",
            lambda *x, dtype=dtype: op.bind(*x, dtype=np.dtype(dtype)),
            words((40, 5)),
            elementwise(lambda *x, bits=bits: reference(*x, bits), dtype),
            ("float64",),
            edges=EDGES,
            wrt=(),
            rtol=rtol,
        )
        for dtype, bits, rtol in (("float64", 53, 1e-14), ("float32", 32, 2e-6))
    )  # type: ignore[return-value]


ROWS: tuple[Row, ...] = (
    *[
        Row(
            f"philox {half}",
            lambda *x, half=half: rn.philox_op.bind(*x, half=half),
            words((4, 5)),
            elementwise(lambda *x, half=half: halves(*x)[half], "uint64"),
            ("float64",),
            edges=EDGES,
            wrt=(),
        )
        for half in (0, 1)
    ],
    Row(
        "multiply_high uint64",
        multiply_high,
        words((4, 5), 2),
        elementwise(lambda x, y: x * y >> 64, "uint64"),
        ("float64",),
        edges=(PAIRS, (np.uint64(2**63), np.uint64(6))),
        wrt=(),
    ),
    Row(
        "multiply_high uint32",
        multiply_high,
        lambda rng: tuple(rng.integers(0, 2**32, (4, 5), np.uint32) for _ in range(2)),
        elementwise(lambda x, y: x * y >> 32, "uint32"),
        ("float64",),
        edges=((np.array([0, 1, 2**32 - 1], np.uint32),) * 2,),
        wrt=(),
    ),
    *sampled("random_normal", rn.normal_op, normal),
    *sampled("random_truncated_normal", rn.truncated_normal_op, truncated_normal),
)
