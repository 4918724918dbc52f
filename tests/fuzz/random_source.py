"""Random programs as Python source: operations, control flow, writes and odd dtypes on values that stay tame.

The text of a program runs on two namespaces: jittape, and `numpy_namespace`. While it is written, NumPy runs it line by
line, so that what is appended fits in shape and dtype, is finite, and stays clear of kinks.
"""

from __future__ import annotations

import random
import re

import numpy as np
import numpy_namespace
from program_blocks import block, branch, loop, scanned
from program_nodes import PLAIN, Source
from program_statements import SIMPLE, assigned, tabled
from program_writer import Kinds, Writer

SHAPES = [(), (3,), (4,), (1,), (2, 3), (3, 2), (3, 3), (2, 1), (4, 3, 2), (6,), (0,), (2, 0)]
KINDS: Kinds = [*SIMPLE, (assigned, 1.0), (loop, 2.0), (branch, 1.2), (block, 2.0), (scanned, 1.0)]
NESTED: Kinds = [*SIMPLE, (loop, 0.5), (branch, 0.5), (block, 0.4)]


def write(seed: int, smooth: bool, most: int = 10) -> Source:
    """A random program of at most `most` statements, some of which have blocks of their own.

    With `smooth` its derivatives agree with differences: it is float64, assigns no Variables, and all values in its
    straight lines are clear of kinks.
    """
    rng = random.Random(f"{seed} {smooth}")
    dtype = np.float64 if smooth else rng.choice([np.float64, np.float32])
    values = np.random.default_rng(seed)
    writer = Writer(rng, smooth, dtype, KINDS, NESTED, turn=seed // 2)
    inputs = tuple(
        [values.uniform(-2, 2, rng.choice(SHAPES)).astype(dtype) for _ in range(rng.randint(1, 3))]
    )
    writer.values = {f"x{i}": np.asarray(x) for i, x in enumerate(inputs)}
    state: tuple[str, ...] = ()
    if not smooth and rng.random() < 0.3:
        state = ("state",)
        writer.values["state"] = numpy_namespace.Variable(inputs[0] * 0.5)
    tabled(writer)
    for _ in range(rng.randint(2, most)):
        writer.step()
    names = writer.floats()
    text = " ".join([line for node in writer.nodes for line in node.lines(PLAIN)])
    unused = [name for name in names if len(re.findall(rf"\b{name}\b", text)) == 1]
    outputs = (*unused[-3:], rng.choice(names))
    return Source(seed, inputs, writer.constants, tuple(writer.nodes), outputs, smooth, state)
