"""
A tape built from nothing
=========================

This page builds a gradient tape, a compiler for it and a training loop in fewer than 200 lines, with NumPy and Numba. It
has the same parts as jittape: recorded operations, a gradient rule for each operation, a reverse pass that records too, and
one fused kernel. The documentation build runs the code.
"""

import itertools

import matplotlib.pyplot as plt
import numpy as np
from numba import njit

# %%
# Record
# ------
#
# A *value* knows the operation that makes it and the operands. It has no number yet. Computing with values therefore builds a
# list of operations, the *tape*, and runs nothing:

counter = itertools.count()


class Value:
    """The result of an operation, or an input if there is no operation."""

    def __init__(self, op, *operands):
        self.op, self.operands, self.order = op, operands, next(counter)

    def __add__(self, other):
        return Value("add", self, wrap(other))

    def __sub__(self, other):
        return Value("subtract", self, wrap(other))

    def __mul__(self, other):
        return Value("multiply", self, wrap(other))

    __radd__, __rmul__ = __add__, __mul__


class Input(Value):
    """A value that the user sets: an array or a number."""

    def __init__(self, content):
        super().__init__("input")
        self.content = content


def wrap(x):
    return x if isinstance(x, Value) else Input(x)


def sin(x):
    return Value("sin", x)


def cos(x):
    return Value("cos", x)


def total(x):
    return Value("total", x)


x = Input(np.linspace(0, 3, 1000))
a = Input(2.0)
loss = total(sin(a * x))
print(loss.op, [operand.op for operand in loss.operands])

# %%
# The operations behind a value, in the order in which they were recorded, are its program:


def program(*results):
    seen, waiting = set(), list(results)
    while waiting:
        value = waiting.pop()
        if value not in seen:
            seen.add(value)
            waiting.extend(value.operands)
    return sorted(seen, key=lambda value: value.order)


print([value.op for value in program(loss)])

# %%
# Run
# ---
#
# An interpreter runs the program with NumPy, one operation after the other. Each operation reads and writes whole arrays:

NUMPY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "sin": np.sin,
    "cos": np.cos,
    "total": np.sum,
}


def interpret(*results):
    known = {}
    for value in program(*results):
        if isinstance(value, Input):
            known[value] = value.content
        else:
            known[value] = NUMPY[value.op](*(known[operand] for operand in value.operands))
    return [known[result] for result in results]


print(interpret(loss))

# %%
# Differentiate
# -------------
#
# Each operation has a rule. The rule receives ``g``, the gradient with respect to the result, and returns the gradients with
# respect to the operands. The rules compute with values, so the tape records them as well, and gradients have gradients:

RULES = {
    "add": lambda g, x, y: (g, g),
    "subtract": lambda g, x, y: (g, -1.0 * g),
    "multiply": lambda g, x, y: (g * y, g * x),
    "sin": lambda g, x: (g * cos(x),),
    "cos": lambda g, x: (-1.0 * (g * sin(x)),),
    "total": lambda g, x: (g,),
}


def gradient(target, source):
    """Go through the program backward, and add up the gradients that arrive at each value."""
    arrived = {target: wrap(1.0)}
    for value in reversed(program(target)):
        if value in arrived and not isinstance(value, Input):
            for operand, part in zip(
                value.operands,
                RULES[value.op](arrived[value], *value.operands),
                strict=True,
            ):
                arrived[operand] = arrived[operand] + part if operand in arrived else part
    return total(arrived[source])


da = gradient(loss, a)
dda = gradient(da, a)
step = 1e-4
numbers = [np.sin(shifted * x.content).sum() for shifted in (2 - step, 2.0, 2 + step)]
print(
    "first derivative ",
    interpret(da)[0],
    "difference",
    (numbers[2] - numbers[0]) / (2 * step),
)
print(
    "second derivative",
    interpret(dda)[0],
    "difference",
    (numbers[2] - 2 * numbers[1] + numbers[0]) / step**2,
)

# %%
# (This tape sums a gradient over all elements, because its sources are numbers. jittape keeps shapes.)
#
# Fuse
# ----
#
# The interpreter reads and writes an array for each operation. A *fused* kernel computes all operations for one element,
# then goes to the next element. We write it as the source of a Python function and let Numba compile it:

SCALAR = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "sin": "np.sin({})",
    "cos": "np.cos({})",
}


def kernel_source(*results):
    values = program(*results)
    name = {value: f"v{i}" for i, value in enumerate(values)}
    inputs = [value for value in values if isinstance(value, Input)]
    arrays = [value for value in inputs if np.ndim(value.content)]
    lines = [f"def kernel({', '.join(name[value] for value in inputs)}):"]
    lines += [f"    sum_{name[result]} = 0.0" for result in results]
    lines += [f"    for i in range(len({name[arrays[0]]})):"]
    for value in values:
        operands = [
            name[operand] + "[i]" * (operand in arrays) for operand in value.operands
        ]
        if value in results:
            lines.append(f"        sum_{name[value]} += {operands[0]}")
        elif value.op == "total":
            raise NotImplementedError(
                "this kernel has one loop, and a sum inside a program needs two"
            )
        elif not isinstance(value, Input):
            lines.append(f"        {name[value]} = {SCALAR[value.op].format(*operands)}")
    lines.append(f"    return {', '.join('sum_' + name[result] for result in results)}")
    return "\n".join(lines), inputs


source, inputs = kernel_source(loss, da)
print(source)

# %%
# The value and the gradient are one loop. Shared values, such as ``a * x``, are computed once. Every program with the
# same text runs the same machine code, so a dictionary from text to code is the cache:

compiled = {}


def run(*results):
    source, inputs = kernel_source(*results)
    if source not in compiled:
        namespace = {"np": np}
        exec(source, namespace)
        compiled[source] = njit(namespace["kernel"])
    return compiled[source](*(value.content for value in inputs))


print(run(loss, da))
print(interpret(loss, da))

# %%
# Train
# -----
#
# A plain loop fits ``sin(a x)`` to data. Each step records a new tape, but all steps find the same kernel:

data = np.sin(2.6 * x.content)
weight, errors = 2.0, []
for _ in range(60):
    a = Input(weight)
    difference = sin(a * x) - data
    loss = total(difference * difference)
    error, slope = run(loss, gradient(loss, a))
    weight -= 2e-4 * slope
    errors.append(error)

print(f"a = {weight:.4f}; kernels compiled: {len(compiled)}")

fig, ax = plt.subplots()
ax.semilogy(errors)
ax.set_xlabel("step")
ax.set_ylabel("squared error")

# %%
# What jittape adds
# -----------------
#
# - **Recording.** This page sorts values and writes text in each step. jittape walks a prefix tree of all recorded programs,
#   so a known step costs one look-up per operation. See :doc:`/how-it-works/recording`.
# - **Fusion.** This page handles one loop over arrays of equal length. jittape splits a program into kernels with reductions,
#   broadcasting and matrix products. See :doc:`/how-it-works/fusion`.
# - **Kernels and caches.** jittape writes LLVM code with vector instructions and threads, and stores the machine code on disk.
#   See :doc:`/how-it-works/kernels` and :doc:`/how-it-works/caching`.
