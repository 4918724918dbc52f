"""The names of ``jittape.numpy``, imported when the first of them is used."""

from __future__ import annotations

import numpy as np

from jittape.numpy.namespace_values import OWN
from jittape.numpy.namespaces import MODULES, names_of, namespace

__all__ = ["NAMES", "find"]

_PACKAGES = ("emath", "fft", "lib", "linalg", "random")

NAMES = names_of(np, [name for name in OWN if not name.startswith("_")], _PACKAGES, MODULES)
"""All public names."""

find = namespace("jittape.numpy", np, OWN, _PACKAGES, NAMES)
"""``__getattr__`` of the namespace."""
