"""Gradients with the same bits for 1, 2, 4 or 8 processes of MPI: ``mpiexec -n 4 python mpi_same_bits.py``."""

import hashlib

import numpy as np
from mpi4py import MPI

import jittape as jt

BLOCKS = 8  # a multiple of the number of processes
jt.config.compile_after = (
    0  # first calls otherwise run without compiled kernels, which may round differently
)

comm = MPI.COMM_WORLD
rng = np.random.default_rng(0)
rows = rng.normal(size=(400, 20))
targets = rows @ np.arange(20.0)
blocks = list(zip(np.split(rows, BLOCKS), np.split(targets, BLOCKS), strict=True))
mine = blocks[comm.rank * BLOCKS // comm.size : (comm.rank + 1) * BLOCKS // comm.size]


@jt.value_and_grad
def loss_and_gradient(w, x, y):
    return jt.reduce_sum((jt.linalg.matvec(x, w) - y) ** 2)


w = np.zeros(20)
for _ in range(100):
    flats = [jt.flatten_gradients(loss_and_gradient(w, x, y))[0] for x, y in mine]
    sums = np.empty((BLOCKS, flats[0].size))
    comm.Allgather(np.stack(flats), sums)
    total = sums.sum(axis=0)  # in the order of the blocks, on each process
    loss, gradient = total[0], total[1:]
    w = w - 1e-3 * gradient

if comm.rank == 0:
    print(f"loss {loss:.3g}, bits {hashlib.sha256(w.tobytes()).hexdigest()[:8]}")
