"""From programs to machine code: schedule, loop nests, LLVM IR through Numba, and the driver.

Read in this order: `kernel` (what a kernel is), `schedule` (which kernels a program becomes), `nest` (how the listing
of one comes about), `emit` (its machine code), `driver` (how a list of them runs without Python between).
"""
