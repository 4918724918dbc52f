"""LLVM: writing IR, compiling modules, linking symbols, and the driver that runs tables of kernels."""
