"""Random whole programs against NumPy, differences and themselves.

``python -m pytest tests/fuzz --programs 2000 --seed 7`` writes 2,000 programs; a failure prints the program, its inputs
and its seed; write a test of that program, since other seeds follow when the writer changes. Half of the programs are
smooth: their derivatives are compared too.
"""

from __future__ import annotations

import pytest
from oracles import check
from program_nodes import ROWS
from random_source import write

BATCHES = 40
"""Parts into which the programs are divided, so that they can run in parallel."""


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_programs(batch: int, programs: range):
    for seed in programs[batch::BATCHES]:
        check(write(seed, smooth=seed % 2 == 0))


def test_programs_reach_every_primitive():
    """There are two programs for each row of the table, and almost all rows appear in one of them."""
    texts = " ".join([write(seed, smooth=False, most=2).text() for seed in range(1, 4 * len(ROWS), 2)])
    missing = [row.name for row in ROWS if f"row({row.name!r}" not in texts]
    assert len(missing) < len(ROWS) / 20, missing
