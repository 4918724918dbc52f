"""The BLAS and LAPACK: jittape's own copy of OpenBLAS, with the kernels that suit the processor.

OpenBLAS chooses its kernels by the processor's model when it is loaded, and treats unknown models, some of them with
AVX-512, as a Haswell: a float32 product of 1024 x 1024 matrices then runs at 121 GFLOP/s instead of 224. NumPy and
SciPy have each loaded a copy by then, so jittape loads one more from the wheel `scipy-openblas32`, and chooses the
kernels by the features of the processor. Compiled kernels call the functions by *symbols*: machine code on disk holds
names, never addresses.

If the wheel is missing, jittape uses SciPy's copy through the capsules that SciPy exports for Cython. jittape's own
copy uses one thread, so the order of its sums, and every bit of a product, depends on sizes alone.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from jittape.compile.ir.target_facts import TargetFacts
from jittape.compile.llvm.host_processor import host_processor
from jittape.core.config import config
from jittape.core.locks import lock
from jittape.value_classes import value_class

__all__ = ["ROUTINES", "Blas", "blas", "has_avx512", "host_facts", "routine_address", "symbol"]

BLAS_ROUTINES = tuple(letter + name for name in ("gemm", "gemv", "trmm", "trsm", "trsv") for letter in "sdcz")
_OF_ALL_DTYPES = ("potrf", "getrf", "gesv", "getrs", "trtri", "lauum", "gesdd", "geqrf", "geev")
LAPACK_ROUTINES = (
    *[letter + name for name in _OF_ALL_DTYPES for letter in "sdcz"],
    *("ssyevd", "dsyevd", "cheevd", "zheevd", "sorgqr", "dorgqr", "cungqr", "zungqr", "dgees", "zgees"),
)
ROUTINES = (*BLAS_ROUTINES, *LAPACK_ROUTINES)
"""Names of the functions. They use Fortran's calling sequence: 32-bit integers, every argument by address."""

_CORE_TYPE = "OPENBLAS_CORETYPE"
_SKYLAKE_X = ("avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512cd")
_UNPACKED = ("SkylakeX", "Cooperlake", "SapphireRapids")
_SUFFIXES = {"win32": ".dll", "darwin": ".dylib"}


@value_class
class Blas:
    """A loaded BLAS.

    Attributes
    ----------
    origin : str
        ``"scipy-openblas32"`` or ``"scipy"``.
    core : str
        The library's name for its kernels; empty if it is unknown.
    library : ctypes.CDLL or None
        A reference that keeps the library loaded; None for SciPy's.
    threads : tuple of callables or None
        The functions that get and set the number of threads; None if they are unknown.
    """

    origin: str
    core: str
    library: ctypes.CDLL | None
    threads: tuple[Callable[[], int], Callable[[int], None]] | None

    @property
    def unpacked(self) -> bool:
        """Return whether products of up to a million multiplications run without packing their operands first."""
        return self.core in _UNPACKED


_lock = lock()
_loaded: Blas | None = None
_addresses: dict[str, int] = {}
"""Addresses of the functions by symbol."""
_users_threads = 0
"""Number of threads of SciPy's copy before it was limited to one; 0 while it is not limited."""


def symbol(routine: str) -> str:
    """Return the name by which kernels call `routine`."""
    return f"jittape_{routine}"


def blas() -> Blas:
    """Return the BLAS; the first call loads it.

    Raises
    ------
    ImportError
        If neither the wheel nor SciPy is installed.
    """
    global _loaded
    with _lock:
        if _loaded is None:
            found, addresses = _from_wheel() or _from_scipy()
            if found.library is not None and found.threads is not None:
                found.threads[1](1)
            _addresses.update({symbol(routine): address for routine, address in addresses.items()})
            _loaded = found
            config.on_change(_pin)
            _pin()
    return _loaded


def routine_address(name: str) -> int:
    """Return the address of the function with the symbol `name`."""
    blas()
    return _addresses[name]


def _pin() -> None:
    """Follow `config.deterministic`: limit SciPy's copy to one thread, or restore its threads."""
    global _users_threads
    if _loaded is None or _loaded.library is not None or _loaded.threads is None:
        return
    get_threads, set_threads = _loaded.threads
    if config.deterministic and not _users_threads:
        _users_threads = get_threads()
        set_threads(1)
    elif not config.deterministic and _users_threads:
        set_threads(_users_threads)
        _users_threads = 0


def _threads_of(library: ctypes.CDLL) -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """Return the functions that get and set the number of threads of an OpenBLAS; None for another BLAS."""
    try:
        get_threads, set_threads = (
            getattr(library, f"scipy_openblas_{w}_num_threads") for w in ("get", "set")
        )
    except AttributeError:
        return None
    set_threads.argtypes = [ctypes.c_int]
    return get_threads, set_threads


def _from_wheel() -> tuple[Blas, Mapping[str, int]] | None:
    """Return the wheel's copy; None if it is not installed or cannot be loaded."""
    import importlib.util

    spec = importlib.util.find_spec("scipy_openblas32")
    if spec is None or spec.origin is None:
        return None
    name = "libscipy_openblas" + _SUFFIXES.get(sys.platform, ".so")
    path = os.path.join(os.path.dirname(spec.origin), "lib", name)
    try:
        with _core_type():
            library = ctypes.CDLL(path)
        addresses = {r: _address(getattr(library, f"scipy_{r}_")) for r in ROUTINES}
    except (OSError, AttributeError):
        return None
    library.scipy_openblas_get_corename.restype = ctypes.c_char_p
    core = (library.scipy_openblas_get_corename() or b"").decode()
    return Blas("scipy-openblas32", core, library, _threads_of(library)), addresses


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@contextmanager
def _core_type() -> Iterator[None]:
    """Name the kernels in the environment while the library is loaded, unless the user has chosen them there."""
    core = _best_core()
    if core is None or _CORE_TYPE in os.environ:
        yield
        return
    os.environ[_CORE_TYPE] = core
    try:
        yield
    finally:
        del os.environ[_CORE_TYPE]


def _best_core() -> str | None:
    """Return the kernels that suit the processor's features; None leaves the choice to OpenBLAS."""
    return "SkylakeX" if has_avx512() else None


@cache
def has_avx512() -> bool:
    """Return whether the processor has 32 registers of 64 bytes, and all that OpenBLAS's kernels for them need."""
    features = host_processor().features.split(",")
    return all([f"+{feature}" in features for feature in _SKYLAKE_X])


def host_facts() -> TargetFacts:
    """Return the facts about this process's processor and BLAS that scheduling depends on; loads the BLAS."""
    found = blas()
    return TargetFacts(has_avx512(), found.unpacked, found.library is not None)


def _from_scipy() -> tuple[Blas, Mapping[str, int]]:
    try:
        from scipy.linalg import cython_blas, cython_lapack  # takes 0.2 s
    except ImportError:
        raise ImportError(
            "matrix products need a BLAS: install scipy-openblas32 (pip install scipy-openblas32) or scipy"
        ) from None
    capsule_name = ctypes.pythonapi.PyCapsule_GetName
    capsule_name.restype, capsule_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    capsule_pointer.restype, capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsules = {r: cython_blas.__pyx_capi__[r] for r in BLAS_ROUTINES}
    capsules |= {r: cython_lapack.__pyx_capi__[r] for r in LAPACK_ROUTINES}
    addresses = {r: capsule_pointer(c, capsule_name(c)) for r, c in capsules.items()}
    return Blas("scipy", "", None, _threads_of(ctypes.CDLL(cython_blas.__file__))), addresses
