"""Control flow: `while_loop`, `fori_loop`, `scan`, `map_fn`, `foldl`, `foldr`, `cond`, `case`, `switch_case`.

The bodies are Python functions. Each is traced once, with placeholders, into a program that compiled code runs.
"""

from jittape.flow.branches import case as case
from jittape.flow.branches import cond as cond
from jittape.flow.branches import switch_case as switch_case
from jittape.flow.loops import fori_loop as fori_loop
from jittape.flow.loops import while_loop as while_loop
from jittape.flow.scans import foldl as foldl
from jittape.flow.scans import foldr as foldr
from jittape.flow.scans import map_fn as map_fn
from jittape.flow.scans import scan as scan
from jittape.flow.scans import vectorized_map as vectorized_map
from jittape.flow.tensor_array import TensorArray as TensorArray
