"""Calls of the C library for rare elements that a branch-free formula does not cover.

LLVM does not vectorize a loop with a call, unless it knows a vector version of the called function. So each outlined
function has vector versions (LLVM's attribute `vector-function-abi-variant`) that test whether the condition holds in
any lane, and return at once if it does not.
"""

from __future__ import annotations

from llvmlite import ir

__all__ = ["call_rarely"]

#: Lanes of the vector versions: float32 in AVX-512 has 16, float64 in NEON or SSE has 2.
_WIDTHS = (2, 4, 8, 16)


def call_rarely(
    builder: ir.IRBuilder, condition: ir.Value, name: str, argument: ir.Value, otherwise: ir.Value
) -> ir.Value:
    """Emit ``condition ? name(argument) : otherwise`` as a call of an outlined function."""
    outlined, kind, known = f"jittape_rarely_{name}", argument.type, builder.module.globals
    in_lanes = isinstance(kind, ir.VectorType)
    function = known.get(outlined)
    if function is None:
        widths = () if in_lanes else _WIDTHS
        function = _outline(builder.module, outlined, name, kind.element if in_lanes else kind, widths)
    if not in_lanes:
        return builder.call(function, [condition, argument, otherwise])
    version = known.get(f"{outlined}_{kind.count}_lanes")
    if version is None:
        version = _write_lanes_version(builder.module, function, kind)
    called = builder.call(version, [builder.bitcast(condition, ir.IntType(kind.count)), argument])
    return builder.select(condition, called, otherwise)


class _StringAttributes(ir.values.FunctionAttributes):  # type: ignore[misc]
    """Function attributes including quoted ones, which llvmlite does not support."""

    def __init__(self, names: list[str], quoted: list[str]) -> None:
        super().__init__(names)
        self._quoted = quoted

    def _to_list(self, ret_type: ir.Type) -> list[str]:
        return [*super()._to_list(ret_type), *self._quoted]


def _outline(
    module: ir.Module, outlined: str, name: str, kind: ir.Type, widths: tuple[int, ...]
) -> ir.Function:
    """Add the outlined function and its vector versions to the module."""
    library = module.globals.get(name)
    if library is None:
        library = ir.Function(module, ir.FunctionType(kind, [kind]), name)
    function = ir.Function(module, ir.FunctionType(kind, [ir.IntType(1), kind, kind]), outlined)
    function.linkage = "linkonce_odr"
    _write_scalar_body(function, library)
    variants = []
    for width in widths:
        _write_vector_version(module, function, width)
        variants.append(f"_ZGV_LLVM_N{width}vvv_{outlined}({outlined}_{width})")
    quoted = [f'"vector-function-abi-variant"="{",".join(variants)}"'] if variants else []
    function.attributes = _StringAttributes(["cold", "noinline", "nounwind"], quoted)
    return function


def _write_scalar_body(function: ir.Function, library: ir.Function) -> None:
    condition, argument, otherwise = function.args
    entry, call, done = (function.append_basic_block(label) for label in ("entry", "call", "done"))
    ir.IRBuilder(entry).cbranch(condition, call, done)
    builder = ir.IRBuilder(call)
    called = builder.call(library, [argument])
    builder.branch(done)
    builder = ir.IRBuilder(done)
    result = builder.phi(otherwise.type)
    result.add_incoming(otherwise, entry)
    result.add_incoming(called, call)
    builder.ret(result)


def _write_vector_version(module: ir.Module, scalar: ir.Function, width: int) -> ir.Function:
    """Emit the version that calls the scalar function lane by lane if the condition holds in any lane."""
    vectors = [ir.VectorType(kind, width) for kind in scalar.function_type.args]
    function = ir.Function(module, ir.FunctionType(vectors[-1], vectors), f"{scalar.name}_{width}")
    # Before vectorization only the attribute refers to it, so LLVM would drop a discardable linkage.
    function.linkage = "weak_odr"
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    mask = builder.bitcast(function.args[0], ir.IntType(width))
    _write_loop_over_lanes(builder, scalar, mask, function.args[1], function.args[2])
    return function


def _write_lanes_version(module: ir.Module, scalar: ir.Function, kind: ir.VectorType) -> ir.Function:
    """Emit the version for a number of lanes that the code has chosen, without the values of the other lanes.

    Its arguments, the bits of the condition and four vectors at most, fit the registers for arguments. LLVM passes
    others on the stack, where they need the alignment of a vector, and does not align the stack in functions that
    reserve memory in loops.
    """
    kinds = [ir.IntType(kind.count), kind]
    function = ir.Function(module, ir.FunctionType(kind, kinds), f"{scalar.name}_{kind.count}_lanes")
    function.linkage = "linkonce_odr"
    mask, argument = function.args
    _write_loop_over_lanes(
        ir.IRBuilder(function.append_basic_block("entry")), scalar, mask, argument, argument
    )
    return function


def _write_loop_over_lanes(
    builder: ir.IRBuilder, scalar: ir.Function, mask: ir.Value, argument: ir.Value, otherwise: ir.Value
) -> None:
    """Emit the body of a vector version: it calls the scalar function for each lane if a bit of the mask is set."""
    function, entry, bits, width = builder.function, builder.block, mask.type, otherwise.type.count
    function.attributes.add("noinline")
    function.attributes.add("nounwind")
    loop, done = (function.append_basic_block(label) for label in ("loop", "done"))
    index_type = ir.IntType(32)
    builder.cbranch(builder.icmp_unsigned("==", mask, bits(0)), done, loop)
    builder = ir.IRBuilder(loop)
    index = builder.phi(index_type)
    partial, rest = builder.phi(otherwise.type), builder.phi(bits)
    lanes = [builder.extract_element(vector, index) for vector in (argument, otherwise)]
    called = builder.call(scalar, [builder.trunc(rest, ir.IntType(1)), *lanes])
    updated = builder.insert_element(partial, called, index)
    following = builder.add(index, index_type(1))
    shifted = builder.lshr(rest, bits(1))
    builder.cbranch(builder.icmp_unsigned("==", following, index_type(width)), done, loop)
    phis = (index, index_type(0), following), (partial, otherwise, updated), (rest, mask, shifted)
    for phi, first, later in phis:
        phi.add_incoming(first, entry)
        phi.add_incoming(later, loop)
    builder = ir.IRBuilder(done)
    result = builder.phi(otherwise.type)
    result.add_incoming(otherwise, entry)
    result.add_incoming(updated, loop)
    builder.ret(result)
