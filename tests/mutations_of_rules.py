"""Rules broken on purpose: values, gradients, shapes and batches of ops."""

from __future__ import annotations

from mutations import Mutation

__all__ = ["RULES"]


def _table(op: str) -> str:
    """Return the tests of an op in the table of primitives."""
    return f"tests/test_primitives.py -k {op}"


RULES = (
    # ---- element by element ----
    Mutation(
        "multiply", "primitives/elementwise/arithmetic.py",
        "lambda g, out, x, y: zero_dominant_multiply(g, y),\n"
        "        lambda g, out, x, y: zero_dominant_multiply(g, x),",
        "lambda g, out, x, y: zero_dominant_multiply(g, x),\n"
        "        lambda g, out, x, y: zero_dominant_multiply(g, y),",
        "operands swapped in the gradient of a product", _table("multiply"),
    ),
    Mutation(
        "zero-dominant multiply", "primitives/elementwise/arithmetic.py",
        "lowering=Map(lambda m, g, d: m.where(g != 0, g * d, 0)),",
        "lowering=Map(lambda m, g, d: g * d),",
        "zero times infinity is nan in compiled gradients", "tests/test_edge_values.py tests/test_elementwise.py",
    ),
    Mutation(
        "zero-dominant multiply, twice", "primitives/elementwise/arithmetic.py",
        "lambda h, out, g, d: doubly_zero_dominant_multiply_op.bind(h, conj(g))",
        "lambda h, out, g, d: zero_dominant_multiply(h, conj(g))",
        "zero times infinity is nan in second derivatives", "tests/test_edge_values.py tests/test_elementwise.py",
    ),
    Mutation(
        "divide", "primitives/elementwise/division.py",
        "zero_dominant_multiply(g, negative(multiply(out, reciprocal(y))))",
        "zero_dominant_multiply(g, multiply(out, reciprocal(y)))",
        "wrong sign in the gradient of a divisor", _table("divide"),
    ),
    Mutation(
        "integer power", "primitives/elementwise/powers.py",
        "return zero_dominant_multiply(g, multiply(float(exponent), pow(x, exponent - 1)))",
        "return zero_dominant_multiply(g, pow(x, exponent - 1))",
        "exponent dropped as a factor", _table("pow"),
    ),
    Mutation(
        "pow at zero", "primitives/elementwise/powers.py",
        "multiply(out, where(defined, log(x), 0))",
        "multiply(out, log(x))",
        "nan in the gradient of the exponent where the base is 0", "tests/test_edge_values.py",
    ),
    Mutation(
        "log1p", "primitives/elementwise/exponential.py",
        "zero_dominant_multiply(g, reciprocal(add(x, 1)))",
        "zero_dominant_multiply(g, reciprocal(x))",
        "term dropped from the derivative of log1p", _table("log1p"),
    ),
    Mutation(
        "atan2", "primitives/elementwise/trigonometric.py",
        "zero_dominant_multiply(g, negative(divide(y, add(square(x), square(y)))))",
        "zero_dominant_multiply(g, divide(y, add(square(x), square(y))))",
        "wrong sign along the second operand of atan2", _table("atan2"),
    ),
    Mutation(
        "tanh", "primitives/elementwise/hyperbolic.py",
        "zero_dominant_multiply(g, subtract(1, square(out)))",
        "zero_dominant_multiply(g, subtract(1, out))",
        "square dropped from the derivative of tanh", _table("tanh"),
    ),
    Mutation(
        "maximum at a tie", "primitives/elementwise/piecewise.py",
        "lambda g, out, x, y: where(greater_equal(x, y), g, 0),",
        "lambda g, out, x, y: where(greater(x, y), g, 0),",
        "no operand gets the gradient of equal operands", "tests/test_edge_values.py tests/test_elementwise.py",
    ),
    Mutation(
        "where", "primitives/elementwise/comparison.py",
        "lambda g, out, c, x, y: where(c, g, 0), lambda g, out, c, x, y: where(c, 0, g)",
        "lambda g, out, c, x, y: where(c, 0, g), lambda g, out, c, x, y: where(c, g, 0)",
        "each branch gets the gradient of the other one", _table("where"),
    ),
    Mutation(
        "complex absolute value", "primitives/elementwise/piecewise.py",
        "zero_dominant_multiply(cast_to(g, x.dtype), conj(sign(x)))",
        "zero_dominant_multiply(cast_to(g, x.dtype), sign(x))",
        "conjugate dropped", "tests/test_primitives.py tests/test_tape_values.py -k complex",
    ),
    Mutation(
        "remainder", "vectormath/machine_math.py",
        "adjusted = self.where(wrong_sign, remainder + b, remainder)",
        "adjusted = remainder",
        "compiled remainder has the sign of the dividend", _table("mod"),
    ),
    Mutation(
        "exp", "vectormath/exp.py",
        "0.008333333333326084,",
        "0.008333333333826084,",
        "tenth digit of a coefficient of exp", "tests/test_vectormath.py",
    ),
    # ---- segments ----
    Mutation(
        "dropped rows", "primitives/indexing/segments.py",
        "data = where(along_rows(kept_rows(ids), data, 0), data, 0)",
        "data = where(along_rows(kept_rows(ids), data, 0), data, data)",
        "rows with a negative id are added to the first segment", "tests/test_segments.py",
    ),
    Mutation(
        "segments in compiled code", "primitives/indexing/segment_ops.py",
        'end_run_where(too_large_op.bind(ids, extent), "IndexError", f"{op}: a segment id is out of range")',
        "pass",
        "compiled code accepts segment ids that are too large", "tests/test_segments.py -k range",
    ),
    Mutation(
        "maxima of a segment", "primitives/indexing/segment_ops.py",
        "share = zero_dominant_multiply(g, reciprocal(winners))",
        "share = g",
        "equal maxima of a segment each get the whole gradient", "tests/test_segments.py -k ties",
    ),
    Mutation(
        "products of a segment", "primitives/indexing/segment_ops.py",
        "lambda m, before, begins, a, b: m.where(begins, b, m.add(b, m.multiply(a, before))),",
        "lambda m, before, begins, a, b: m.add(b, m.multiply(a, before)),",
        "an infinite factor reaches the next segment in compiled gradients", "tests/test_segments.py -k infinite",
    ),
    Mutation(
        "weights of a count", "primitives/indexing/histograms.py",
        "ids = where(greater_equal(ids, size), -1, ids)",
        "ids = where(greater_equal(ids, size), size - 1, ids)",
        "integers beyond maxlength are counted in the last bin", "tests/test_histograms.py -k counts",
    ),
    Mutation(
        "isotonic regression", "primitives/indexing/isotonic.py",
        "while means and means[-1] < mean:",
        "if means and means[-1] < mean:",
        "a merged block is not compared with the block before it", "tests/test_histograms.py -k regression",
    ),
    Mutation(
        "permutations", "primitives/indexing/partitions.py",
        "wrong = logical_or(less(index, 0), less(result, 0))",
        "wrong = less(result, 0)",
        "compiled code accepts negative numbers in a permutation", "tests/test_histograms.py -k range",
    ),
    # ---- reductions ----
    Mutation(
        "max of equal elements", "primitives/reduce/reductions.py",
        "share = broadcast_back(reciprocal(sum_over(chosen, axes)), x.shape, axes)",
        "share = cast_to(equal(x, x), x.dtype)",
        "equal elements each get the whole gradient", "tests/test_reduce.py",
    ),
    Mutation(
        "product of others", "primitives/reduce/cumulative.py",
        "return multiply(before, flipped(after, (axis,)))",
        "return multiply(before, after)",
        "order of the second factor swapped in the gradient of reduce_prod", _table("prod"),
    ),
    Mutation(
        "cumsum", "primitives/reduce/cumulative.py",
        "flipped(cumsum_op.bind(flipped(g, (axis,)), axis=axis), (axis,))",
        "cumsum_op.bind(g, axis=axis)",
        "gradient of a running sum runs forwards", _table("cumsum"),
    ),
    Mutation(
        "linear recurrence", "primitives/reduce/cumulative.py",
        "flipped(conj(advanced(a, axis)), (axis,))",
        "flipped(conj(a), (axis,))",
        "factors of the recurrence off by one", _table("cumprod"),
    ),
    Mutation(
        "standard deviation", "primitives/reduce/euclidean.py",
        "reciprocal(multiply(out, count_along(x.shape, axes)))",
        "reciprocal(out)",
        "division by the count dropped", _table("std"),
    ),
    Mutation(
        "broadcast", "primitives/broadcast.py",
        "[lead + axis for axis, n in enumerate(x.shape) if _is_stretched(n, shape[lead + axis])]",
        "[axis for axis, n in enumerate(x.shape) if _is_stretched(n, shape[lead + axis])]",
        "gradient of a broadcast sums along axes counted from the wrong end", _table("broadcast"),
    ),
    # ---- shapes and indices ----
    Mutation(
        "transpose", "primitives/shape/views.py",
        "permuted(g, inverse(perm))",
        "permuted(g, perm)",
        "permutation not inverted", _table("transpose"),
    ),
    Mutation(
        "concat", "primitives/shape/views.py",
        "offset = sum([x.shape[axis] for x in operands[:i]])",
        "offset = sum([x.shape[axis] for x in operands[i + 1 :]])",
        "operands take each other's part of the gradient", _table("concat"),
    ),
    Mutation(
        "update", "primitives/shape/views.py",
        "return dynamic_update_slice_op.bind(g, broadcast(literal(0, g.dtype), v.shape), *starts, region=region)",
        "return g",
        "overwritten elements keep their gradient", "tests/test_setitem.py",
    ),
    Mutation(
        "gather", "primitives/indexing/gather_ops.py",
        "return scatter_add_op.bind(g, *indices, axis=axis, shape=x.shape)",
        "zeros = broadcast(literal(0, g.dtype), x.shape)\n"
        "    return scatter_update_op.bind(zeros, g, *indices, axis=axis)",
        "repeated indices lose all but one part of the gradient", _table("gather"),
    ),
    Mutation(
        "scatter_update", "primitives/indexing/gather_ops.py",
        "return where(won, part, 0)",
        "return part",
        "overwritten values get a gradient", "tests/test_primitives.py tests/test_getitem.py -k scatter",
    ),
    Mutation(
        "index range", "primitives/indexing/index_arrays.py",
        "lowering=Map(lambda m, index, size: (index < -size) | (index >= size)),",
        "lowering=Map(lambda m, index, size: (index < -size) | (index > size)),",
        "compiled code accepts the index after the last", "tests/test_index_errors.py",
    ),
    # ---- contraction, sorting ----
    Mutation(
        "matmul", "primitives/linalg/matmul.py",
        "return matmul_op.bind(g, conj(_swapped(y)))",
        "return matmul_op.bind(g, _swapped(y))",
        "conjugate dropped from the gradient of a complex product", "tests/test_matmul_einsum.py",
    ),
    Mutation(
        "adjoint", "primitives/linalg/matmul.py",
        "b = _swapped(conj(b) if adjoint_b else b)",
        "b = _swapped(b)",
        "adjoint_b only transposes", "tests/test_matmul_einsum.py tests/test_primitives.py -k 'adjoint or matmul'",
    ),
    Mutation(
        "cholesky", "primitives/linalg/cholesky_rules.py",
        "product * (0.5 - 0.25 * np.eye(n))",
        "product * 0.5",
        "the cotangent of the diagonal of a factor counts twice", _table("cholesky"),
    ),
    Mutation(
        "solve", "primitives/linalg/lu_factors.py",
        "return lu_solve_op.bind(a, packed, g, adjoint=not adjoint)",
        "return lu_solve_op.bind(a, packed, g, adjoint=adjoint)",
        "the gradient of a solution solves with the matrix itself", _table("solve"),
    ),
    Mutation(
        "triangular solve", "primitives/linalg/triangular.py",
        "return triangle(negative(product), lower)",
        "return negative(product)",
        "a gradient flows to elements that are not read", _table("triangular_solve"),
    ),
    Mutation(
        "row interchanges", "primitives/linalg/lu.py",
        "_permutation(packed, inverted=True)",
        "_permutation(packed, inverted=False)",
        "the gradient of factors has its rows in the wrong order", _table("lu"),
    ),
    Mutation(
        "cofactors", "primitives/linalg/determinants.py",
        "np.conj(solved(regular, identity, adjoint=True))",
        "np.conj(solved(regular, identity, adjoint=False))",
        "the cofactors are transposed", _table("cofactors"),
    ),
    Mutation(
        "qr", "primitives/linalg/qr.py",
        "g_q = add(g_q, times_adjoint(y, g_right))",
        "g_q = g_q",
        "the columns beyond the square part of r do not change q", _table("qr"),
    ),
    Mutation(
        "tridiagonal solve", "primitives/linalg/tridiagonal.py",
        "for other in (advanced(solution, axis), solution, delayed(solution, axis, 0.0))",
        "for other in (delayed(solution, axis, 0.0), solution, advanced(solution, axis))",
        "the gradients of both side diagonals are exchanged", _table("tridiagonal_solve"),
    ),
    Mutation(
        "descending order", "primitives/indexing/sorting.py",
        "order = np.flip(stable_order(np.flip(x, axis), axis), axis)",
        "order = stable_order(np.flip(x, axis), axis)",
        "descending order is ascending", "tests/test_sorting_matrices.py tests/test_primitives.py -k 'sort or top_k'",
    ),
    # ---- eigenvalues and functions of matrices ----
    Mutation(
        "eigenvectors", "primitives/spectra/eigh.py",
        "turn = matmul(conj(rows), matrix_transpose(g_rows))",
        "turn = matmul(rows, matrix_transpose(g_rows))",
        "conjugate dropped from the gradient of complex eigenvectors", "tests/test_spectra.py -k hermitian",
    ),
    Mutation(
        "equal values", "primitives/spectra/decomposition_parts.py",
        "eps = float(np.finfo(values.dtype).eps)",
        "eps = float(np.finfo(values.dtype).tiny)",
        "only exactly equal eigenvalues count as equal", "tests/test_spectra.py -k equal",
    ),
    Mutation(
        "pseudoinverse", "primitives/spectra/pseudoinverse.py",
        "rest = add(rest, subtract(left, matmul(matmul(left, out), a)))",
        "rest = add(rest, left)",
        "a projector dropped from the gradient of the pseudoinverse", _table("pinv"),
    ),
    Mutation(
        "scaling of the exponential", "primitives/spectra/matrix_exponential.py",
        "return (halvings + np.maximum(np.ceil(error / 26), 0)).astype(np.int64)",
        "return halvings.astype(np.int64)",
        "matrices far from normal are not halved often enough", "tests/test_matrix_functions.py",
    ),
    # ---- activations, losses ----
    Mutation(
        "softmax", "primitives/nn/activation.py",
        "return divide(weights, reduce_sum(weights, axes, keepdims=True))",
        "return divide(weights, stop_gradient(reduce_sum(weights, axes, keepdims=True)))",
        "gradient ignores the sum that softmax divides by", _table("softmax"),
    ),
    Mutation(
        "selu", "primitives/nn/activation.py",
        "return where(less(x, 0), negative_part, multiply(SELU_SCALE, x))",
        "return where(less(x, 0), negative_part, x)",
        "factor dropped from the positive part of selu", _table("selu"),
    ),
    Mutation(
        "cross-entropy", "primitives/nn/cross_entropy.py",
        "multiply_no_nan(subtract(log_total, x), labels)",
        "multiply(subtract(log_total, x), labels)",
        "a class of probability 0 and logit -inf gives nan", "tests/test_activation.py",
    ),
    Mutation(
        "sparse cross-entropy", "primitives/nn/cross_entropy.py",
        "wrong = logical_or(less(numbers, 0), greater_equal(numbers, size))",
        "wrong = less(numbers, 0)",
        "compiled code accepts a label above the last class", "tests/test_activation.py tests/test_index_errors.py",
    ),
    # ---- paths, control flow, custom gradients, forward mode, batches ----
    Mutation(
        "several paths", "transform/differentiate.py",
        "self.cotangents[slot] = cotangent if before is None else self.sum(builder, before, cotangent)",
        "self.cotangents[slot] = cotangent",
        "the last of several paths replaces the others", "tests/test_differentiate.py",
    ),
    Mutation(
        "direction of a loop", "control/loop.py",
        "\"backwards\": not self.params[\"backwards\"],",
        "\"backwards\": self.params[\"backwards\"],",
        "gradient of a loop runs in the order of the loop", "tests/test_control.py",
    ),
    Mutation(
        "sum over iterations", "control/loop.py",
        "zeros(aval), self._sum(before, part), source",
        "zeros(aval), part, source",
        "a captured value gets the gradient of one iteration only", "tests/test_control.py",
    ),
    Mutation(
        "gradient of a branch", "control/branch.py",
        "reached = [i for i in inputs if any(i in pullback.gradients for pullback in pullbacks)]",
        "reached = [i for i in inputs if all(i in pullback.gradients for pullback in pullbacks)]",
        "no gradient for what only one branch reads", "tests/test_control.py tests/test_control_structure.py",
    ),
    Mutation(
        "custom gradient", "transform/differentiate.py",
        "for i, cotangent in enumerate(cotangents, start=1):",
        "for i, cotangent in enumerate(reversed(cotangents), start=1):",
        "gradients of a Python function in reversed order",
        "tests/test_differentiate_callbacks.py tests/test_custom_gradient.py",
    ),
    Mutation(
        "custom gradient in a loop", "control/custom_vjp.py",
        "captured = operands[len(operands) - (len(rule.program.inputs) - count) :]",
        "captured = operands[: len(rule.program.inputs) - count]",
        "the rule reads other operands", "tests/test_control.py tests/test_custom_gradient.py",
    ),
    Mutation(
        "forward mode", "autodiff/forward_mode.py",
        "tuple([t for _, t in pairs])",
        "tuple([t for _, t in reversed(pairs)])",
        "tangents of several operands in reversed order", "tests/test_forward_mode.py",
    ),
    Mutation(
        "batch of broadcasts", "primitives/broadcast.py",
        "ones = (1,) * (len(shape) + 1 - len(x.shape))",
        "ones = (1,) * (len(shape) - len(x.shape))",
        "a stack is broadcast along the wrong dimension", "tests/test_batching.py",
    ),
    Mutation(
        "batch of reductions", "primitives/batched_params.py",
        "\"axes\": tuple([a + 1 for a in params[\"axes\"]])",
        "\"axes\": params[\"axes\"]",
        "a stack is reduced along the wrong axes", "tests/test_batching.py",
    ),
    Mutation(
        "row by row", "transform/batching.py",
        "row = [_row(x, i) if s else x for x, s in zip(operands, stacked, strict=True)]",
        "row = [_row(x, 0) if s else x for x, s in zip(operands, stacked, strict=True)]",
        "every row of a stack is the first", "tests/test_batching.py",
    ),
    # ---- transforms, complex numbers and float16 ----
    Mutation(
        "rfft", "primitives/signal/transform_ops.py",
        "irfft_op.bind(_inner_scaled(g, axis, n, 0.5), n=n",
        "irfft_op.bind(g, n=n",
        "inner frequencies count twice in the gradient of rfft", "tests/test_primitives.py -k rfft",
    ),
    Mutation(
        "middle frequency", "primitives/signal/transform_ops.py",
        "    if n % 2 == 0:\n",
        "    if n % 2 == 1:\n",
        "the last frequency of an even length counts twice", "tests/test_primitives.py -k irfft",
    ),
    Mutation(
        "normalization of adjoints", "primitives/signal/transform_ops.py",
        "fft_op.bind(g, axes=axes, inverse=not inverse, norm=DUAL[norm])",
        "fft_op.bind(g, axes=axes, inverse=not inverse, norm=norm)",
        "the gradient of fft is divided by its length", "tests/test_primitives.py -k fft",
    ),
    Mutation(
        "dct", "primitives/signal/transform_ops.py",
        'if norm != "ortho" and kind in (1, 3):',
        'if norm != "ortho" and kind in (3,):',
        "the ends of a cosine transform of type 1 count twice", "tests/test_primitives.py -k dct",
    ),
    Mutation(
        "complex product", "compile/llvm/ir_value.py",
        "chosen = [i if i % 2 == 0 else i + a.type.count for i in places]",
        "chosen = [i if i % 2 == 1 else i + a.type.count for i in places]",
        "compiled complex products have the signs of both parts exchanged", "tests/test_complex_loops.py",
    ),
    Mutation(
        "complex exponential", "vectormath/complex_formulas.py",
        "imag = m.where(y == 0, y, m.where(zero, m.copysign(0, y), imag))",
        "imag = m.where(zero, m.copysign(0, y), imag)",
        "the exponential of an infinite real number has the imaginary part nan", "tests/test_complex_loops.py",
    ),
    Mutation(
        "rounding to float16", "vectormath/machine_math.py",
        "return self.bitcast(self.where(is_inexact, toward_zero | 1, bits), np.float32)",
        "return single",
        "a cast from float64 to float16 rounds twice", "tests/test_float16.py",
    ),
    Mutation(
        "reductions of float16", "compile/rewrite/decompose.py",
        "isinstance(op.primitive.lowering, Reduce) and info_of(dtype).arithmetic != dtype",
        "isinstance(op.primitive.lowering, Reduce) and False",
        "float16 is summed as bits of integers", "tests/test_float16.py",
    ),
    Mutation(
        "rounding to bfloat16", "vectormath/half.py",
        "rounded = (bits + 0x7FFF + (upper & 1)) >> 16",
        "rounded = (bits + 0x8000) >> 16",
        "compiled casts to bfloat16 round midpoints up", "tests/test_bfloat16.py",
    ),
    Mutation(
        "Python numbers and bfloat16", "core/builder.py",
        "return handle if narrow == float32 else",
        "return handle if narrow is not None else",
        "Python numbers beside bfloat16 are not rounded", "tests/test_bfloat16.py",
    ),
)  # fmt: skip
"""The faults, in the order of the table in the documentation."""
