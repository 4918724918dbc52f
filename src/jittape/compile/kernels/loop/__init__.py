"""Loop kernels in LLVM IR."""
