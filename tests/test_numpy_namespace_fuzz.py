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


def both_raise(wanted, found):
    """Return whether both raise: the first error may differ."""
    return isinstance(wanted, Exception) and isinstance(found, Exception)


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
            if both_raise(wanted, found) or getattr(wanted, "dtype", None) == np.dtype(object):
                continue
            compared += 1
            assert not isinstance(found, Exception), (seed, name, pairs, options, found, wanted)
            assert agree(found, wanted), (seed, name, pairs, options, found, wanted)
    assert compared > CALLS // 10


# ---- functions whose arguments have a form of their own --------------------------------------------------------------


def same(value):
    return value, value


def vector(draw, length=None):
    return operand(draw, (length or draw.randrange(1, 6),))


def matrix(draw):
    return operand(draw, draw.choice(((2, 3), (2, 2), (3, 4), (1, 3), (2, 1))))


def anything(draw):
    return operand(draw, draw.choice(SHAPES))


def axis(draw):
    return {"axis": draw.choice((0, -1, None, 1))}


METHODS = (
    "linear",
    "lower",
    "higher",
    "nearest",
    "midpoint",
    "hazen",
    "weibull",
    "median_unbiased",
    "inverted_cdf",
)
PADS = ("constant", "edge", "reflect", "symmetric", "wrap", "maximum", "mean", "median", "minimum")
FORMS = [
    ("amax amin nanargmax nanargmin nancumprod nancumsum nanmedian nanmin nanmax nanprod nanvar nanstd median ptp",
     lambda d: ([anything(d)], axis(d))),
    ("argwhere atleast_1d atleast_3d ediff1d flatnonzero iscomplexobj isrealobj isneginf isposinf real_if_close angle "
     "nan_to_num unique_counts trapezoid", lambda d: ([anything(d)], {})),
    ("array_equiv append copysign", lambda d: ([anything(d), anything(d)], {})),
    ("polyadd polysub polymul intersect1d setdiff1d setxor1d", lambda d: ([vector(d), vector(d)], {})),
    ("diag tril triu", lambda d: ([d.choice((matrix, vector))(d)], {"k": d.choice((0, 1, -1, 3))})),
    ("diagonal trace", lambda d: ([matrix(d)], {"offset": d.choice((0, 1, -1, 5))})),
    ("convolve correlate", lambda d: ([vector(d), vector(d)], {"mode": d.choice(("valid", "same", "full"))})),
    ("cumulative_sum cumulative_prod", lambda d: ([vector(d)], {"include_initial": d.random() < 0.5})),
    ("polyint trim_zeros sort_complex poly", lambda d: ([vector(d)], {})),
    ("polyval", lambda d: ([vector(d), anything(d)], {})),
    ("bartlett blackman hamming hanning", lambda d: ([same(d.randrange(6))], {})),
    ("quantile", lambda d: ([operand(d, (4,)), same(d.choice((0.3, [0.1, 0.9])))], {"method": d.choice(METHODS)})),
    ("broadcast_to", lambda d: ([operand(d, d.choice(((3,), (1, 3), (2, 1), ()))), same((2, 3))], {})),
    ("linspace", lambda d: ([operand(d, ()), operand(d, ())], {
        "num": d.randrange(1, 6), "endpoint": d.random() < 0.5
    })),
    ("column_stack dstack", lambda d: ([tuple(list(s) for s in zip(vector(d, 3), vector(d, 3), strict=True))], {})),
    ("digitize", lambda d: ([vector(d), same(np.array([-1.0, 0.0, 2.0]))], {"right": d.random() < 0.5})),
    ("searchsorted", lambda d: ([same(np.array([-1.0, 0.0])), anything(d)], {"side": d.choice(("left", "right"))})),
    ("isin", lambda d: ([anything(d), vector(d)], {"invert": d.random() < 0.5})),
    ("meshgrid", lambda d: ([vector(d), vector(d)], {"indexing": d.choice(("xy", "ij"))})),
    ("vander", lambda d: ([vector(d)], {"increasing": d.random() < 0.5})),
    ("cov", lambda d: ([matrix(d)], {"ddof": d.choice((0, 1))})),
    ("pad", lambda d: ([operand(d, (2, 3)), same(d.choice((1, (1, 2))))], {"mode": d.choice(PADS)})),
    ("roll", lambda d: ([anything(d), same(d.choice((1, -2)))], axis(d))),
    ("rot90", lambda d: ([matrix(d), same(d.choice((1, 2, 3)))], {})),
    ("delete", lambda d: ([vector(d, 4), same(d.choice((1, [0, 2], slice(1, 3))))], {})),
    ("insert", lambda d: ([vector(d, 4), same(1), operand(d, ())], {})),
    ("repeat", lambda d: ([anything(d), same(2)], axis(d))),
    ("tile", lambda d: ([anything(d), same(d.choice((2, (2, 1))))], {})),
    ("resize", lambda d: ([anything(d), same(d.choice(((2, 3), 4, (0,))))], {})),
    ("einsum", lambda d: ([same("ij,jk"), operand(d, (2, 3)), operand(d, (3, 4))], {})),
    ("tensordot", lambda d: ([operand(d, (2, 3)), operand(d, (3, 2))], {"axes": d.choice((1, ([0], [1])))})),
    ("clip", lambda d: ([anything(d), same(d.choice((0, -1, None))), same(d.choice((1, 2.5, None)))], {})),
    ("where", lambda d: ([operand(d, (3,)), operand(d, ()), operand(d, (3,))], {})),
    ("full_like", lambda d: ([anything(d), same(d.choice((2, 1.5, True)))], {})),
    ("cross", lambda d: ([operand(d, (3,)), operand(d, (2, 3))], {})),
    ("histogram", lambda d: ([vector(d)], {"bins": d.choice((3, [-1.0, 0.0, 2.0]))})),
]  # fmt: skip
"""Names of functions, and what draws their operands and options."""


@pytest.mark.parametrize("part", range(4))
def test_random_calls_with_forms_of_their_own_agree_with_numpy(part):
    seed = random.SystemRandom().randrange(2**32)
    draw = random.Random(seed)
    compared = 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for _ in range(CALLS // 4):
            names, form = draw.choice(FORMS)
            name, (pairs, options) = draw.choice(names.split()), form(draw)
            wanted = outcome(np, name, [theirs for theirs, _ in pairs], options)
            found = outcome(jnp, name, [ours for _, ours in pairs], options)
            if both_raise(wanted, found) or getattr(wanted, "dtype", None) == np.dtype(object):
                continue
            if isinstance(wanted, Exception) and any(
                isinstance(theirs, (list, tuple)) for theirs, _ in pairs
            ):
                continue  # NumPy asks a list for its attributes
            if name == "where" and isinstance(found, OverflowError):
                continue  # NumPy wraps a number that does not fit
            compared += 1
            assert not isinstance(found, Exception), (seed, name, pairs, options, found, wanted)
            assert agree(found, wanted), (seed, name, pairs, options, found, wanted)
    assert compared > CALLS // 10
