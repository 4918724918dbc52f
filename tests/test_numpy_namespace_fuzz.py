"""Random calls of `jittape.numpy` with numbers, lists, arrays, tensors and Variables, against NumPy's answers.

The seed is fresh; a failure prints the call.
"""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp

CALLS = 500
DTYPES = ("bool", "int8", "uint8", "int16", "int64", "uint64", "float16", "float32", "float64", "complex64")
SHAPES = ((), (3,), (2, 3), (1, 3), (2, 1), (4,), (0,), (2, 2))
NUMBERS = (2, 3, 1.5, -1, True, 0.5, 1 + 2j, 0)
REDUCTIONS = (
    "sum prod mean std var any all cumsum cumprod nansum sort argsort flip count_nonzero average squeeze"
)
OF_ONE = "ravel copy zeros_like ones_like atleast_2d ndim size shape transpose unique diff round nonzero"
OF_TWO = "dot outer inner kron vdot array_equal allclose isclose"
OF_SEVERAL = "concat stack vstack hstack broadcast_arrays"
UFUNCS = [name for name in jnp.__all__ if isinstance(getattr(np, name, None), np.ufunc)]
EXCEPT = {
    "reciprocal",  # of an integer 0
    "spacing",  # float16
    "nextafter",
    "matvec",
    "vecmat",
}
"""Functions with known differences."""


def array_of(draw, shape, dtype):
    values = np.array(draw.choices((0, 1, 2, 3, -1, -2, 5), k=int(np.prod(shape)))).reshape(shape)
    fraction = draw.choice((0.0, 0.5)) if np.dtype(dtype).kind in "fc" else 0
    return np.asarray(
        (abs(values) if dtype[0] == "u" else values).astype(dtype) + np.array(fraction, dtype), dtype
    )


def operand(draw, shape):
    """Return an operand for NumPy and its counterpart for `jittape.numpy`."""
    array = array_of(draw, shape, draw.choice(DTYPES))
    number = draw.choice(NUMBERS)
    kinds = [
        (number, number),
        (array, array),
        (array, jnp.asarray(array)),
        (array, jnp.asarray(array)),
        (array, jnp.asarray(array) if array.dtype == np.bool_ else jt.Variable(array)),
    ]
    if array.size:  # NumPy gives an empty list another dtype in some functions
        kinds.append((array.tolist(), array.tolist()))
    if array.ndim and array.size:
        kinds.append((list(array), [jnp.asarray(part) if draw.random() < 0.6 else part for part in array]))
    return draw.choice(kinds)


def call_of(draw):
    """Return the name of a function, its operands for both sides, and its options."""
    kind = draw.randrange(5)
    shape = draw.choice(SHAPES)
    if kind == 0:
        name = draw.choice(UFUNCS)
        pairs = [
            operand(draw, draw.choice((shape, draw.choice(SHAPES)))) for _ in range(getattr(np, name).nin)
        ]
        return name, pairs, {"dtype": "float64"} if draw.random() < 0.1 else {}
    if kind == 1:
        options = {"axis": draw.choice((0, -1))} if shape and draw.random() < 0.6 else {}
        name = draw.choice(REDUCTIONS.split())
        # Otherwise the order of equal elements depends on NumPy's vector instructions.
        stable = {"kind": "stable"} if name == "argsort" else {}
        return name, [operand(draw, shape)], options | stable
    if kind == 2:
        return draw.choice(OF_ONE.split()), [operand(draw, shape)], {}
    pairs = [operand(draw, shape), operand(draw, shape)]
    if kind == 3:
        return draw.choice(OF_TWO.split()), pairs, {}
    name = draw.choice(OF_SEVERAL.split())
    return (
        name,
        pairs if name == "broadcast_arrays" else [tuple(list(side) for side in zip(*pairs, strict=True))],
        {},
    )


def agree(found, wanted):
    if isinstance(wanted, (tuple, list)):
        return len(found) == len(wanted) and all(agree(f, w) for f, w in zip(found, wanted, strict=True))
    if not isinstance(wanted, (np.ndarray, np.generic)):
        return found == wanted
    if not isinstance(found, jt.Tensor) or (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        return False
    tolerance = {"e": 4e-3, "f": 1e-5, "F": 1e-5}.get(wanted.dtype.char, 1e-10)
    return np.allclose(found.numpy(), wanted, rtol=tolerance, atol=tolerance, equal_nan=True)


def outcome(namespace, name, operands, options):
    try:
        found = getattr(namespace, name)(*operands, **options)
        str(found)  # computes it
        return found
    except Exception as error:
        return error


def is_known(name, wanted, found):
    """Return whether a difference is documented: complex numbers have no order, and the first error may differ."""
    if isinstance(wanted, Exception):
        return isinstance(found, Exception)
    return isinstance(found, jt.DTypeError) and "complex" in str(found)


@pytest.mark.parametrize("part", range(4))
def test_random_calls_agree_with_numpy(part):
    seed = random.SystemRandom().randrange(2**32)
    draw = random.Random(seed)
    compared = 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for _ in range(CALLS // 4):
            name, pairs, options = call_of(draw)
            if name in EXCEPT:
                continue
            wanted = outcome(np, name, [theirs for theirs, _ in pairs], options)
            found = outcome(jnp, name, [ours for _, ours in pairs], options)
            if is_known(name, wanted, found) or getattr(wanted, "dtype", None) == np.dtype(object):
                continue
            compared += 1
            assert not isinstance(found, Exception), (seed, name, pairs, options, found, wanted)
            assert agree(found, wanted), (seed, name, pairs, options, found, wanted)
    assert compared > CALLS // 10
