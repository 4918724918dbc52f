"""Random ``@njit`` programs against differences and forward mode, and eight threads that call one gradient.

``python -m pytest tests/fuzz/test_njit_programs.py --programs 5000 --seed 7`` checks 5,000 programs, and 1,250 each
with stencils, with updates of near elements, with uncommon statements, and on matrices of any layout and size: 0.15 s
each on one core. Python runs the generated code; one program in fifty is compiled by Numba. One in twenty is derived
twice.
"""

from __future__ import annotations

import threading
import time

import numba
import numpy as np
import pytest

import jittape as jt
from conftest import FEW
from njit_as_python import check_compiled, check_programs, check_second_derivatives
from random_njit import random_arguments, random_program, special_arguments
from random_njit_edges import random_edges
from random_njit_in_place import random_in_place
from random_njit_layouts import layout_arguments, random_layouts
from random_stencils import random_stencils, stencil_arguments

BATCHES = 8


# The way to give `out` in Numba; Python runs the programs, too.
@pytest.mark.filterwarnings(
    "ignore:Passing more than 2 positional arguments to np.maximum:DeprecationWarning"
)
@pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaPerformanceWarning")
@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_njit_programs(batch: int, programs: range):
    seeds = programs[batch::BATCHES]
    seeds = seeds if len(programs) > FEW else seeds[::5]
    assert check_programs(seeds) > 0
    check_programs(seeds[::4], random_stencils, stencil_arguments)
    check_programs(seeds[::4], random_in_place)
    check_programs(seeds[::4], random_edges, may_refuse=True)
    check_programs(seeds[::4], random_layouts, layout_arguments, may_refuse=True)
    for k, seed in enumerate(seeds[::20]):
        arguments_of = special_arguments if k % 2 else random_arguments
        check_second_derivatives(*random_program(seed), arguments_of(seed), seed)
    if len(programs) > FEW:
        for seed in seeds[::50]:
            check_compiled(*random_program(seed), random_arguments(seed), seed)


@numba.njit
def pendulums(x, steps):
    """Values are recorded in stacks that grow, and the argument is written."""
    energy, step = 0.0, 0
    while step < steps:
        for i in range(1, len(x)):
            x[i] += 0.01 * np.sin(x[i - 1]) * x[i]
            if x[i] > 2.0:
                break
        energy += x[step % len(x)] ** 2
        step += 1
    return energy


def test_eight_threads_call_one_gradient(programs: range):
    gradient = jt.njit_value_and_grad(pendulums)
    starts = [np.linspace(0.1, 0.3 + 0.1 * k, 5 + k) for k in range(8)]
    counts = [50 + 40 * k for k in range(8)]
    expected = [gradient(x.copy(), n) for x, n in zip(starts, counts, strict=True)]
    end = time.monotonic() + (60 if len(programs) > FEW else 1)
    wrong: list[int] = []

    def call(k: int) -> None:
        while time.monotonic() < end:
            value, x_b = gradient(starts[k].copy(), counts[k])
            if value != expected[k][0] or (x_b != expected[k][1]).any():
                wrong.append(k)

    threads = [threading.Thread(target=call, args=(k,)) for k in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong
