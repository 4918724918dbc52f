"""Gradients of rows that are divided among the processes of MPI: ``mpiexec -n 4 python mpi_gradients.py``.

Needs ``pip install mpi4py`` and an MPI library, for example ``pip install mpich``.
"""

import numpy as np
from mpi4py import MPI

import jittape as jt

comm = MPI.COMM_WORLD
rng = np.random.default_rng(0)
rows = rng.normal(size=(400, 20))
targets = rows @ np.arange(20.0)
x = np.array_split(rows, comm.size)[comm.rank]
y = np.array_split(targets, comm.size)[comm.rank]

w = jt.Variable(np.zeros(20))
for _ in range(100):
    with jt.GradientTape() as tape:
        loss = jt.reduce_sum((jt.linalg.matvec(x, w) - y) ** 2)
    flat, unflatten = jt.flatten_gradients([tape.gradient(loss, w)])
    comm.Allreduce(MPI.IN_PLACE, flat)
    w.assign_sub(1e-3 * unflatten(flat)[0])

if comm.rank == 0:
    print(np.round(w.numpy(), 2))
