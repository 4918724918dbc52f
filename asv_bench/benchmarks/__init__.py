"""Benchmarks of jittape, run by asv.

`recording` is what an op costs in Python, `steps` whole training steps, `startup` what a process pays once.
"""

import sys
from pathlib import Path

# `npbench` has kernels that the tests and the comparison with JAX use too.
sys.path.append(str(Path(__file__).parent.parent))
