"""From programs to machine code: schedule, loop nests, LLVM IR, and the driver.

Read in this order: `kernel` (what a kernel is), `schedule` (which kernels a program becomes), `nest` (how the listing
of one comes about), `emit` (its LLVM IR), `driver` (how a list of them runs without Python between), `registry` (where
machine code comes from), `machine` (LLVM), `diskcache` (what is kept for other processes).
"""
