"""Powers of integers with integer exponents, as an outlined loop in LLVM IR."""

from __future__ import annotations

from llvmlite import ir

__all__ = ["call_integer_power"]


def call_integer_power(builder: ir.IRBuilder, base: ir.Value, exponent: ir.Value) -> ir.Value:
    """Emit a call of the power function of this width, which each module defines once; the exponent is unsigned."""
    name = f"jittape_power_{base.type}"
    function = builder.module.globals.get(name)
    if function is None:
        function = _write_function(builder.module, name, base.type)
    return builder.call(function, [base, exponent])


def _write_function(module: ir.Module, name: str, kind: ir.IntType) -> ir.Function:
    """Emit a loop of squarings and multiplications.

    Unrolled over the 64 bits of int64, it would take LLVM 0.13 s to compile.
    """
    function = ir.Function(module, ir.FunctionType(kind, [kind, kind]), name)
    function.linkage = "linkonce_odr"
    function.attributes.add("nounwind")
    entry, loop, done = (function.append_basic_block(label) for label in ("entry", "loop", "done"))
    ir.IRBuilder(entry).branch(loop)
    builder = ir.IRBuilder(loop)
    power, square, bits = (builder.phi(kind) for _ in range(3))
    odd = builder.trunc(bits, ir.IntType(1))
    multiplied = builder.select(odd, builder.mul(power, square), power)
    squared, rest = builder.mul(square, square), builder.lshr(bits, kind(1))
    builder.cbranch(builder.icmp_unsigned("==", rest, kind(0)), done, loop)
    starts = (kind(1), *function.args)
    for phi, start, following in zip((power, square, bits), starts, (multiplied, squared, rest), strict=True):
        phi.add_incoming(start, entry)
        phi.add_incoming(following, loop)
    ir.IRBuilder(done).ret(multiplied)
    return function
