"""Errors of the vector math in units in the last place, against mpmath; and the harness to compile a formula.

Run by hand: ``python tests/ulp_table.py [function ...]``. It prints one row per function and dtype: the largest error
of compiled code and of the interpreter, and where, and nanoseconds per element of the compiled loop.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import mpmath
import numpy as np
from llvmlite import ir
from mpmath import mp

import gamma_references
import jittape as jt
import special_references
from jittape.compile.analysis import cost
from jittape.compile.llvm.ir_math import IRMath
from jittape.compile.llvm.ir_value import IRValue, llvm_type
from jittape.core.primitive import apply
from jittape.primitives.elementwise import (
    bessel,
    error_functions,
    exponential,
    hyperbolic,
    integrals,
    modified_bessel,
    powers,
    smooth_functions,
    special,
    trigonometric,
)

mp.prec = 200

#: name -> (reference, intervals to sample uniformly, whether to sample all magnitudes too)
Row = tuple[Callable[..., Any], list[tuple[float, float]], bool]

FUNCTIONS: dict[str, Row] = {
    "exp": (mp.exp, [(-110, 90), (-750, 712), (-1, 1)], True),
    "exp2": (lambda x: mp.mpf(2) ** x, [(-152, 129), (-1080, 1025), (-1, 1)], True),
    "expm1": (mp.expm1, [(-50, 90), (-3, 3), (-1, 1), (-50, 710)], True),
    "log": (mp.log, [(0.3, 3), (0.9, 1.1), (0.6, 0.8), (1.3, 1.5), (0, 1000)], True),
    "log2": (lambda x: mp.log(x, 2), [(0.3, 3), (0.9, 1.1), (0.6, 0.8), (1.3, 1.5), (0, 1000)], True),
    "log10": (mp.log10, [(0.3, 3), (0.9, 1.1), (0.6, 0.8), (1.3, 1.5), (0, 1000)], True),
    "log1p": (mp.log1p, [(-1, 3), (-0.3, 0.5), (-1e-3, 1e-3), (0, 1000)], True),
    "sin": (mp.sin, [(-4, 4), (-100, 100), (-1e5, 1e5), (-1e9, 1e9)], True),
    "cos": (mp.cos, [(-4, 4), (-100, 100), (-1e5, 1e5), (-1e9, 1e9)], True),
    "tan": (mp.tan, [(-4, 4), (-100, 100), (-1e5, 1e5), (-1e9, 1e9)], True),
    "arcsin": (mp.asin, [(-1, 1), (0.9, 1)], True),
    "arccos": (mp.acos, [(-1, 1), (0.9, 1), (-1, -0.9)], True),
    "arctan": (mp.atan, [(-1, 1), (-5, 5), (-100, 100)], True),
    "sinh": (mp.sinh, [(-2, 2), (-90, 90), (-711, 711)], True),
    "cosh": (mp.cosh, [(-2, 2), (-90, 90), (-711, 711)], True),
    "tanh": (mp.tanh, [(-1, 1), (-4, 4), (-20, 20)], True),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), [(-1, 1), (-40, 40), (-750, 10), (-105, 1)], True),
    "softplus": (lambda x: mp.log1p(mp.exp(x)), [(-3, 3), (-40, 40), (-750, 10), (-105, 1)], True),
    "erf": (mp.erf, [(-1, 1), (-4, 4), (-6, 6)], True),
    "erfc": (lambda x: mp.erfc(max(-1000, min(x, 1000))), [(-2, 2), (0, 10), (18, 27)], True),
    "lgamma": (lambda x: mp.loggamma(x).real, [(0, 4), (0, 40), (0.9, 1.1), (1.9, 2.1), (0, 1e30)], False),
    "digamma": (mp.digamma, [(0, 4), (0, 40), (1.4, 1.5), (0, 1e30)], False),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), [(0.1, 10)], True),
    **special_references.ROWS,
    **gamma_references.ROWS,
}
#: Written in terms of the functions above.
COMPOSED: dict[str, Row] = {
    "arcsinh": (mp.asinh, [(-2, 2), (-1e-3, 1e-3), (-100, 100)], True),
    "arccosh": (mp.acosh, [(1, 1.01), (1, 4), (1, 1000)], True),
    "arctanh": (mp.atanh, [(-1, 1), (-1e-3, 1e-3), (0.9, 1)], True),
}
ELEMENTARY = FUNCTIONS | COMPOSED
#: Functions of two or three arguments.
SEVERAL = {
    "power": mp.power,
    "arctan2": mp.atan2,
    **gamma_references.SEVERAL,
}
#: The op of each function, for its evaluation by the interpreter; exp2 has none.
OPS = {
    "arccos": trigonometric.acos_op,
    "arccosh": hyperbolic.acosh_op,
    "arcsin": trigonometric.asin_op,
    "arcsinh": hyperbolic.asinh_op,
    "arctan": trigonometric.atan_op,
    "arctan2": trigonometric.atan2_op,
    "arctanh": hyperbolic.atanh_op,
    "power": powers.pow_op,
    **gamma_references.OPS,
    **{
        name: getattr(module, f"{name}_op")
        for module, names in (
            (exponential, "exp expm1 log log2 log10 log1p rsqrt"),
            (trigonometric, "sin cos tan"),
            (hyperbolic, "sinh cosh tanh sigmoid softplus"),
            (special, "lgamma digamma"),
            (bessel, "bessel_j0 bessel_j1 bessel_y0 bessel_y1"),
            (modified_bessel, "bessel_i0 bessel_i0e bessel_i1 bessel_i1e"),
            (modified_bessel, "bessel_k0 bessel_k0e bessel_k1 bessel_k1e"),
            (integrals, "dawsn expint fresnel_cos fresnel_cos_slope fresnel_sin fresnel_sin_slope spence"),
            (smooth_functions, "sinc logcosh"),
            (error_functions, "erf erfc erfinv erfcinv erfcx ndtr ndtri log_ndtr"),
        )
        for name in names.split()
    },
}
CHUNK = 16384

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()


class Compiled:
    """A formula compiled as a loop over arrays.

    Parameters
    ----------
    formula
        Called with an `IRMath` and a value for each argument.
    dtypes
        Of the arguments.
    result
        Dtype of the result; that of the first argument if not given.
    """

    def __init__(self, formula: Callable[..., Any], dtypes: list[Any], result: Any = None) -> None:
        self.dtypes = [np.dtype(dtype) for dtype in dtypes]
        self.result = self.dtypes[0] if result is None else np.dtype(result)
        target = llvm.Target.from_default_triple()
        machine = target.create_target_machine(
            opt=3, cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), jit=True
        )
        module = llvm.parse_assembly(str(_loop(formula, self.dtypes, self.result)))
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = True
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        self.optimized = str(module)
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        signature = [ctypes.c_int64] + [ctypes.c_void_p] * (len(dtypes) + 1)
        self.call = ctypes.CFUNCTYPE(None, *signature)(self._engine.get_function_address("loop"))

    def __call__(self, *arrays: Any) -> np.ndarray[Any, Any]:
        inputs = [
            np.ascontiguousarray(array, dtype) for array, dtype in zip(arrays, self.dtypes, strict=True)
        ]
        out = np.empty(inputs[0].shape, self.result)
        self.call(out.size, *(array.ctypes.data for array in inputs), out.ctypes.data)
        return out


def _loop(formula: Callable[..., Any], dtypes: list[np.dtype[Any]], result: np.dtype[Any]) -> ir.Module:
    """Write ``for i in range(n): out[i] = formula(m, a[i], b[i], ...)``."""
    module = ir.Module()
    index = ir.IntType(64)
    pointers = [_stored(dtype).as_pointer() for dtype in [*dtypes, result]]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [index, *pointers]), "loop")
    for argument in function.args[1:]:
        argument.add_attribute("noalias")
    entry, body, done = (function.append_basic_block(name) for name in ("entry", "body", "done"))
    builder = ir.IRBuilder(entry)
    builder.cbranch(builder.icmp_signed(">", function.args[0], index(0)), body, done)
    builder = ir.IRBuilder(body)
    i = builder.phi(index)
    values = []
    for argument, dtype in zip(function.args[1:], dtypes, strict=False):
        loaded = builder.load(builder.gep(argument, [i], inbounds=True))
        if dtype.kind == "b":
            loaded = builder.trunc(loaded, ir.IntType(1))
        values.append(IRValue(builder, loaded, dtype))
    computed = formula(IRMath(builder), *values)
    if computed.dtype != result:
        raise TypeError(f"the formula gives {computed.dtype}, not {result}")
    stored = builder.zext(computed.ir, ir.IntType(8)) if result.kind == "b" else computed.ir
    builder.store(stored, builder.gep(function.args[-1], [i], inbounds=True))
    following = builder.add(i, index(1), flags=("nuw", "nsw"))
    i.add_incoming(index(0), entry)
    i.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, function.args[0]), body, done)
    ir.IRBuilder(done).ret_void()
    return module


def _stored(dtype: np.dtype[Any]) -> ir.Type:
    return ir.IntType(8) if dtype.kind == "b" else llvm_type(dtype)


def samples(name: str, dtype: Any, count: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Draw arguments: uniform in the intervals of the row, and uniform in the bits of all floats."""
    generator = np.random.default_rng(seed)
    _, intervals, everywhere = ELEMENTARY[name]
    parts = [generator.uniform(low, high, count).astype(dtype) for low, high in intervals]
    if everywhere:
        parts.append(random_bits(generator, dtype, count))
    return np.concatenate(parts)


def random_bits(generator: np.random.Generator, dtype: Any, count: int) -> np.ndarray[Any, Any]:
    """Draw finite floats of all magnitudes."""
    unsigned = np.uint32 if np.dtype(dtype).itemsize == 4 else np.uint64
    bits = generator.integers(0, np.iinfo(unsigned).max, count, dtype=unsigned).view(dtype)
    return bits[np.isfinite(bits)]


def exact(reference: Callable[..., Any], *arguments: float) -> Any:
    """Return the reference's value with 200 bits, nan where it is undefined or not real."""
    try:
        value = reference(*(mp.mpf(float(argument)) for argument in arguments))
    except (ValueError, ZeroDivisionError):
        return mp.nan
    return mp.nan if isinstance(value, mpmath.mpc) else value


def ulp_error(value: float, truth: Any, dtype: Any, amplitude: float = 0.0) -> float:
    """Return the distance in units in the last place of the truth, or of the amplitude if that is larger.

    Overflow counts as the next float.
    """
    info = np.finfo(dtype)
    if mp.isnan(truth):
        return 0.0 if np.isnan(value) else np.inf
    if mp.isinf(truth):
        return 0.0 if value == float(truth) else np.inf
    if np.isnan(value):
        return np.inf
    _, exponent = mp.frexp(max(abs(truth), amplitude))
    least = info.minexp - info.nmant
    unit = mp.mpf(2) ** max(int(exponent) - info.nmant - 1, least)
    bound = mp.mpf(2) ** info.maxexp
    if np.isinf(value) or abs(truth) >= bound:
        value_ = mp.sign(value) * bound if np.isinf(value) else mp.mpf(float(value))
        truth_ = mp.sign(truth) * min(abs(truth), bound)
        return float(abs(value_ - truth_) / unit) if truth != mp.inf else float(value != np.inf)
    return float(abs(mp.mpf(float(value)) - truth) / unit)


def error_of(reference: Callable[..., Any], value: float, dtype: Any, *point: float) -> float:
    """Return the error at a point; it is relative to the amplitude of a reference that has one."""
    amplitude = getattr(reference, "amplitude", None)
    scale = amplitude(*point) if amplitude else 0.0
    return ulp_error(value, exact(reference, *point), dtype, scale)


def worst(
    reference: Callable[..., Any], dtype: Any, values: Any, *arguments: Any
) -> tuple[float, tuple[float, ...]]:
    """Return the largest error and its place."""
    found: tuple[float, tuple[float, ...]] = (0.0, ())
    for value, *point in zip(values, *arguments, strict=True):
        error = error_of(reference, float(value), dtype, *point)
        if error > found[0]:
            found = (error, tuple(float(coordinate) for coordinate in point))
    return found


def samples_of_several(name: str, dtype: Any, count: int, seed: int = 0) -> list[np.ndarray[Any, Any]]:
    """Draw arguments: moderate ones, and (for arctan2) of all magnitudes."""
    if name in gamma_references.SEVERAL:
        return gamma_references.samples_of_several(name, dtype, count, seed)
    generator = np.random.default_rng(seed)
    if name == "arctan2":
        moderate = [generator.normal(size=count).astype(dtype) for _ in range(2)]
        wild = [random_bits(generator, dtype, count) for _ in range(2)]
        length = min(map(len, wild))
        return [np.concatenate([a, b[:length]]) for a, b in zip(moderate, wild, strict=True)]
    limit = np.log(np.finfo(dtype).max)
    base = np.concatenate([generator.uniform(0, 4, count), np.exp(generator.uniform(-80, 80, count))]).astype(
        dtype
    )
    near_one = (1 + generator.normal(size=count) * 1e-3).astype(dtype)
    base = np.concatenate([base, near_one])
    exponent = generator.uniform(-1.05, 1.05, base.size) * limit / np.log(base.astype(np.float64))
    return [base, exponent.astype(dtype)]


def nanoseconds(compiled: Compiled, *arrays: Any) -> float:
    """Return the best time an element over arrays in the cache."""
    inputs = [
        np.ascontiguousarray(array[:CHUNK], dtype)
        for array, dtype in zip(arrays, compiled.dtypes, strict=True)
    ]
    out = np.empty(inputs[0].shape, compiled.result)
    addresses = [array.ctypes.data for array in [*inputs, out]]
    best = {0: np.inf, out.size: np.inf}
    for _ in range(200):
        for size in best:
            start = time.perf_counter_ns()
            compiled.call(size, *addresses)
            best[size] = min(best[size], time.perf_counter_ns() - start)
    return float((best[out.size] - best[0]) / out.size)


def kernel_nanoseconds(name: str, dtype: Any, *arrays: Any) -> float:
    """Return the best time an element of the op's kernel, on one thread."""
    before, jt.config.threads = jt.config.threads, 1
    run = jt.function(lambda *operands: apply(OPS[name], operands))
    best = dict.fromkeys((1, 2048), np.inf)
    for size in best:
        operands = [np.ascontiguousarray(array[:size], dtype) for array in arrays]
        for _ in range(200):
            start = time.perf_counter_ns()
            run(*operands).numpy()
            best[size] = min(best[size], time.perf_counter_ns() - start)
    jt.config.threads = before
    return float((best[2048] - best[1]) / 2047)


def formula(name: str) -> Callable[..., Any]:
    """Return the scalar formula of a function, as ``formula(m, *values)``."""
    if name in COMPOSED:
        return OPS[name].lowering.expression  # type: ignore[no-any-return, union-attr]
    return lambda m, *values: getattr(m, name)(*values)


def interpreted(name: str, *arguments: Any) -> np.ndarray[Any, Any]:
    """Evaluate as the interpreter does."""
    with np.errstate(all="ignore"):
        return np.asarray(OPS[name].impl(*arguments))


def main(names: list[str], count: int = 4000) -> None:
    """Print the table."""
    print(f"{'function':10} {'dtype':8} {'compiled':>8} {'interpreted':>11} {'ns':>6}   worst arguments")
    for name in names or [*ELEMENTARY, *SEVERAL]:
        for dtype in (np.float32, np.float64):
            if name in SEVERAL:
                reference, arguments = SEVERAL[name], samples_of_several(name, dtype, count)
            else:
                reference, arguments = ELEMENTARY[name][0], [samples(name, dtype, count)]
            compiled = Compiled(formula(name), [dtype] * len(arguments))
            error, place = worst(reference, dtype, compiled(*arguments), *arguments)
            other: tuple[float, tuple[float, ...]] = (np.nan, ())
            if name in OPS:
                other = worst(reference, dtype, interpreted(name, *arguments), *arguments)
            timed = [np.random.default_rng(1).uniform(0.1, 0.9, CHUNK)] * len(arguments)
            # LLVM does not vectorize around the loops of formulas; the kernels of jittape are vectors.
            has_loop = OPS.get(name) and cost.has_loop(OPS[name], (), (np.dtype(dtype),) * len(arguments))
            spent = kernel_nanoseconds(name, dtype, *timed) if has_loop else nanoseconds(compiled, *timed)
            columns = f"{error:8.2f} {other[0]:11.2f} {spent:6.2f}"
            print(f"{name:10} {dtype.__name__:8} {columns}   {place} {other[1]}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
