"""The compiler broken on purpose: its passes, the keys of its caches, and runs."""

from __future__ import annotations

from mutations import Mutation

__all__ = ["PASSES"]

PASSES = (
    # ---- program to program ----
    Mutation(
        "common subexpressions", "core/simplify.py",
        "first = seen.setdefault(op.key, op.out)",
        "first = seen.setdefault((op.primitive, op.args), op.out)",
        "ops with other parameters count as equal", "tests/test_simplify.py",
    ),
    Mutation(
        "identities", "primitives/elementwise/arithmetic.py",
        "simplified=neutral(0, 1),",
        "simplified=neutral(0, 0, 1),",
        "0 - x is simplified to x", "tests/test_simplify.py tests/test_random_programs.py",
    ),
    Mutation(
        "sums of products", "compile/rewrite/sum_before_product.py",
        "for scaled in path[:-1]:",
        "for scaled in path[1:-1]:",
        "negation dropped where a sum moves before a product", "tests/test_schedule.py tests/test_random_programs.py",
    ),
    Mutation(
        "factors of cotangents", "compile/rewrite/cotangent_factors.py",
        "is_dominant = g.factor is not None",
        "is_dominant = False",
        "a zero parameter times an infinite derivative is nan", "tests/test_cotangent_factors.py",
    ),
    Mutation(
        "symmetric sums", "compile/rewrite/symmetric_sums.py",
        "change = 1 if weights[0] == weights[1] else -1",
        "change = 1",
        "a sum of differences over one axis has the sign of that over the other", "tests/test_symmetric_sums.py",
    ),
    Mutation(
        "Cholesky cotangents", "compile/rewrite/cholesky_cotangents.py",
        "waiting += [(weight * factor, operand) for factor, operand in pairs]",
        "waiting += [(weight, operand) for factor, operand in pairs]",
        "the signs of cotangents of a factor are lost", "tests/fuzz/test_lapack.py",
    ),
    Mutation(
        "overwritten operands", "compile/analysis/lapack_operands.py",
        "avals[slot] == avals[op.out] and uses[slot] == 1",
        "avals[slot] == avals[op.out]",
        "a factor overwrites an operand that is read later", "tests/fuzz/test_lapack.py",
    ),
    Mutation(
        "joined sums", "compile/fuse/join_sums.py",
        "if len(pair) < 2 or pair[0][1:] != pair[1][1:]:",
        "if len(pair) < 2 or pair[0].group != pair[1].group:",
        "sums over different axes are joined", "tests/test_schedule.py",
    ),
    Mutation(
        "layout transposition", "compile/rewrite/layout_transposition.py",
        "params[\"axes\"] = tuple(sorted([perm[axis] for axis in params[\"axes\"]]))",
        "params[\"axes\"] = tuple(sorted(params[\"axes\"]))",
        "a transposed array is reduced along its old axes", "tests/test_layout_transposition.py",
    ),
    Mutation(
        "joined loops: direction", "compile/rewrite/join_loops.py",
        'first.params["backwards"] != second.params["backwards"] and not (first.is_map or second.is_map)',
        'first.params["backwards"] is None',
        "a loop backwards joins a loop forwards", "tests/test_join_loops.py",
    ),
    Mutation(
        "joined loops: maps", "compile/rewrite/join_loops.py",
        '"backwards": (second if first.is_map else first).params["backwards"],',
        '"backwards": first.params["backwards"],',
        "a recurrence runs in the direction of a map that it joins", "tests/test_join_loops.py",
    ),
    # ---- nests ----
    Mutation(
        "cut nests: memory", "compile/lower/split_nest.py",
        "stride *= extents[-1]",
        "stride *= extents[0]",
        "wrong strides of a value between two pieces", "tests/fuzz/test_schedules_fuzz.py",
    ),
    Mutation(
        "cut nests: loops", "compile/lower/split_nest.py",
        "_loops(r.address.linear) | self.whole.axes[r.value] | sum([1 << axis for axis in r.axes])",
        "_loops(r.address.linear) | self.whole.axes[r.value]",
        "a piece drops a loop that its sum runs along", "tests/fuzz/test_schedules_fuzz.py",
    ),
    Mutation(
        "scalar bytecode: operands", "compile/kernels/scalar_vm/bytecode.py",
        "words += _instruction(op.out, *op.args)",
        "words += _instruction(op.out, *op.args[::-1])",
        "operands of a scalar instruction swapped", "tests/test_scalar_bytecode.py",
    ),
    Mutation(
        "scalar bytecode: order", "compile/kernels/scalar_vm/bytecode.py",
        "missing[op.out] = len(needed)",
        "missing[op.out] = min(1, len(needed))",
        "an instruction runs when one of its operands is ready", "tests/test_scalar_bytecode.py",
    ),
    Mutation(
        "vector remainder", "compile/llvm/ir_vectors.py",
        "return builder.icmp_signed(\"<\", numbered(lanes), spread(builder, count, lanes))",
        "return builder.icmp_signed(\"<=\", numbered(lanes), spread(builder, count, lanes))",
        "mask of the last vector has one lane too many", "tests/test_vectorize.py",
    ),
    Mutation(
        "pairwise sums", "compile/kernels/loop/pairwise.py",
        "used = builder.trunc(builder.lshr(count, index), ir.IntType(1))",
        "used = ir.Constant(ir.IntType(1), 1)",
        "partial sums that are not in use are added", "tests/test_reduce.py",
    ),
    Mutation(
        "division among threads", "compile/analysis/parallelism.py",
        "return store.scan.axis == loop",
        "return False",
        "a running sum is divided among threads", "tests/test_threads.py tests/test_compiled_ops.py",
    ),
    Mutation(
        "rounded results", "compile/kernels/loop/outline.py",
        'in ("fadd", "fsub", "fmul"):',
        'in ("fneg",):',
        "sums are fused with products where nothing else uses these", "tests/test_recomputed_extrema.py",
    ),
    # ---- steps ----
    Mutation(
        "order of pieces", "compile/schedule/order_steps.py",
        "before = _predecessors(draft)",
        "before = _predecessors(draft)\n"
        "    before = [{o for o in b if steps[o].depth < s.depth} for s, b in zip(steps, before, strict=True)]",
        "a piece of a cut nest runs before the piece that it reads", "tests/test_schedule_validation.py",
    ),
    Mutation(
        "row tiling: reach", "compile/schedule/row_tiling.py",
        "return step == length and first >= 0 and last < length",
        "return step == length and first >= 0",
        "a block reads rows of the next one", "tests/test_row_tiling.py",
    ),
    Mutation(
        "row tiling: sums", "compile/schedule/row_tiling.py",
        "                or not cut.reads.isdisjoint(partial)\n",
        "",
        "a block reads a sum over all blocks", "tests/test_row_tiling.py",
    ),
    Mutation(
        "row tiling: last block", "compile/schedule/row_tiling.py",
        "return -(-self.rows // self.block)",
        "return self.rows // self.block",
        "rows after the last whole block are left out", "tests/test_row_tiling.py",
    ),
    Mutation(
        "GEMM accumulate fusion: sign", "compile/schedule/accumulate_in_gemm.py",
        "float(weights[1 - kept[0]])",
        "1.0",
        "a product that is subtracted is added", "tests/test_accumulate_in_gemm.py",
    ),
    Mutation(
        "GEMM accumulate fusion: readers", "compile/schedule/accumulate_in_gemm.py",
        "return any(c.w in slots for i, slots in enumerate(c.owners) if i >= c.product and i != c.at[0])",
        "return False",
        "a Variable is updated before its last reader", "tests/test_accumulate_in_gemm.py",
    ),
    Mutation(
        "in place: readers", "compile/schedule/update_in_place.py",
        "all(e.x not in own for own in e.owners[e.writer + 1 :])",
        "True",
        "a result overwrites an input that a later step reads",
        "tests/test_schedule_validation.py tests/test_memory.py",
    ),
    Mutation(
        "in place: addresses", "compile/ir/loop_kernel.py",
        "load.address == expected and load.mask is None and level == store.level for load",
        "load.mask is None and level == store.level for load",
        "a loop overwrites elements that it reads later", "tests/test_memory.py",
    ),
    Mutation(
        "overwritten operands: readers", "compile/schedule/overwrite_operands.py",
        "self.last[owner] == number > self.first[owner]",
        "number > self.first[owner]",
        "a temporary is written over an operand that a later step reads", "tests/test_overwritten_operands.py",
    ),
    Mutation(
        "overwritten operands: memory", "compile/schedule/memory_planning.py",
        "if slot not in self.handed_on:",
        "if slot in self.storage:",
        "memory that was handed on is free", "tests/test_overwritten_operands.py",
    ),
    Mutation(
        "memory planning: lifetimes", "compile/schedule/memory_planning.py",
        "self.storage[slot] >= self.first and last_use[slot] < end:",
        "self.storage[slot] >= self.first and last_use[slot] <= end:",
        "memory is reused one step before its last reader", "tests/test_schedule.py",
    ),
    Mutation(
        "memory planning: free ranges", "compile/schedule/memory_planning.py",
        "[_Range(start + wanted, rest, known)]",
        "[_Range(start, rest, known)]",
        "a range that was handed out stays free", "tests/test_schedule.py tests/test_schedule_validation.py",
    ),
    Mutation(
        "loop buffers", "compile/kernels/control/control_plan.py",
        "result=result,\n            other=other,",
        "result=other,\n            other=result,",
        "last value of a carry in the wrong buffer", "tests/test_control.py",
    ),
    # ---- keys ----
    Mutation(
        "kernel key: product", "compile/ir/gemm_kernel.py",
        "{self.form} product {flags}\"",
        "{self.form} product\"",
        "kernels of x @ y and x.T @ y share a name", "tests/test_gemm.py tests/test_kernel.py",
    ),
    Mutation(
        "kernel key: mask", "compile/ir/loop_kernel.py",
        "+ (\"\" if mask is None else f\" where %{mask} else 0\")",
        "+ \"\"",
        "loads with and without a mask share a name", "tests/test_kernel.py",
    ),
    Mutation(
        "kernel key: primitive", "compile/ir/kernel.py",
        "return f\"{primitive.name}.{number}\" if number else primitive.name",
        "return primitive.name",
        "primitives of one name share kernels", "tests/test_kernel.py tests/test_kernel_sharing.py",
    ),
    Mutation(
        "cache key: sources", "compile/cache/fingerprint.py",
        "    \"core\",\n",
        "",
        "cache entries survive a change of the simplifier", "tests/test_object_store.py",
    ),
    Mutation(
        "path key: default dtype", "recording/trie.py",
        "code, line, config._default_float)",
        "code, line)",
        "paths survive a change of the default dtype", "tests/test_recording.py tests/test_convert.py",
    ),
    Mutation(
        "path key: kind of parameter", "recording/trie_insertion.py",
        "parts: list[Any] = [key[0], key[1], kinds, config._default_float]",
        "parts: list[Any] = [key[0], key[1], config._default_float]",
        "1, 1.0 and True are one parameter", "tests/test_templates.py",
    ),
    Mutation(
        "rule key: equal operands", "transform/differentiate.py",
        "along, config._default_float, same, cotangent.aval",
        "along, config._default_float, cotangent.aval",
        "the gradient of x * y is reused for x * x", "tests/test_templates.py tests/test_differentiate.py",
    ),
    # ---- runs ----
    Mutation(
        "flush: liveness", "recording/flushing.py",
        "if getrefcount(t) > _UNREFERENCED and",
        "if getrefcount(t) > _UNREFERENCED + 1 and",
        "a flush drops tensors that are referred to once", "tests/test_recording.py",
    ),
    Mutation(
        "flush: donated memory", "recording/flushing.py",
        "self._donated(needed, assigned) if self.large and not goes_on else ()",
        "self._donated(needed, assigned) if self.large else ()",
        "an assignment overwrites a value that an open tape needs", "tests/test_memory.py",
    ),
    Mutation(
        "memory of results", "runtime/emit_result_sets.py",
        "one = builder.or_(shared(item), memory_shared(item))",
        "one = memory_shared(item)",
        "a result that is still held is overwritten", "tests/test_result_memory.py",
    ),
)  # fmt: skip
"""The faults, in the order of the table in the documentation."""
