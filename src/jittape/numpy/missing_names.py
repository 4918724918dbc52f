"""Names of NumPy that ``jittape.numpy`` does not have, with the reason and what to use instead."""

from __future__ import annotations

import difflib
from fnmatch import fnmatchcase

from jittape.left_out import LeftOut

__all__ = ["MISSING", "explanation"]

MISSING = (
    LeftOut(
        "char strings str_ bytes_ character datetime64 timedelta64 busday* is_busday datetime_* isnat object_ void "
        "record recarray rec flexible longdouble clongdouble float96 float128 complex192 complex256",
        "tensors hold numbers of a fixed size",
        "NumPy on ndarrays",
    ),
    LeftOut("matrix asmatrix bmat", "there is no class of matrices, only of tensors", "the operator @"),
    LeftOut("row_stack", "NumPy has deprecated it", "vstack"),
    LeftOut("ma", "there are no masked arrays", "where, or the functions named nan*"),
    LeftOut(
        "memmap asfortranarray isfortran require asarray_chkfinite nditer nested_iters flatiter broadcast "
        "lib.stride_tricks.as_strided",
        "the memory of tensors is jittape's own",
        "asarray",
    ),
    LeftOut("frompyfunc ufunc", "ufuncs of Python functions return objects", "vectorize"),
    LeftOut(
        "random.BitGenerator random.MT19937 random.PCG64* random.Philox random.SFC64 "
        "random.SeedSequence random.get_state random.set_state random.*bit_generator random.mtrand random.test",
        "the generator is jittape's Philox, whose state is a Variable",
        "default_rng(seed)",
    ),
    LeftOut("random.random_integers", "NumPy has deprecated it", "random.randint"),
    LeftOut(
        "seterrcall geterrcall *bufsize", "compiled code has no such states", "jt.debugging.enable_check_numerics()"
    ),
    LeftOut(
        "f2py distutils testing.* ctypeslib core lib.* dtypes rec show_* get_include info *test typename "
        "mintypecode format_parser ScalarType sctypeDict typecodes sctypes fromregex little_endian",
        "this part of NumPy has nothing to do with tensors",
        "NumPy",
    ),
    LeftOut("polynomial poly1d", "there are no classes of polynomials", "polyval, polyfit and jt.math.polyval"),
)  # fmt: skip


def explanation(module: str, name: str, known: list[str], in_numpy: bool) -> str:
    """Return the text of the `AttributeError` for a name that the namespace `module` does not have."""
    start = f"{module} has no {name!r}"
    if name.startswith("_"):
        return start
    path = f"{module.removeprefix('jittape.numpy')}.{name}".lstrip(".")
    for entry in MISSING:
        if any(fnmatchcase(path, pattern) for pattern in entry.names.split()):
            return f"{start}: {entry.reason}; use {entry.instead}"
    near = difflib.get_close_matches(name, known, 1, 0.7)
    if near:
        return f"{start}; did you mean {module}.{near[0]}?"
    if not in_numpy:
        return start
    place = module.removeprefix("jittape.")
    return f"{start}: it is not recorded; {place}.{name}(t.numpy()) computes with ndarrays, which leaves the tape"
