"""The programs of the documentation under MPI; skipped where mpi4py or ``mpiexec`` is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpi4py")
MPIEXEC = shutil.which(
    "mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
)
if MPIEXEC is None:
    pytest.skip("no mpiexec", allow_module_level=True)

PROGRAMS = Path(__file__).parents[2] / "docs" / "programs"


def output_of(program: str, processes: int) -> str:
    """Return what a program prints if it runs in so many processes."""
    assert MPIEXEC is not None
    command = [MPIEXEC, "-n", str(processes), sys.executable, str(PROGRAMS / program)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_gradients_of_all_processes_are_added(processes: int) -> None:
    numbers = output_of("mpi_gradients.py", processes).strip(" []\n").split()
    assert [abs(float(number)) for number in numbers] == list(range(20))


def test_sums_in_the_order_of_the_blocks_have_the_same_bits() -> None:
    alone = output_of("mpi_same_bits.py", 1)
    assert "bits" in alone
    assert [output_of("mpi_same_bits.py", processes) for processes in (2, 4, 8)] == [alone] * 3
