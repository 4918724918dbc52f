"""Methods of ``tf.data.Dataset`` that jittape does not have, and what to use instead."""

from __future__ import annotations

import difflib
from typing import Any

__all__ = ["Explained", "missing_method"]

_INSTEAD = {
    "make_one_shot_iterator make_initializable_iterator": "iter(dataset)",
    "ragged_batch sparse_batch": "padded_batch(n)",
    "rejection_resample": "filter(function)",
    "ignore_errors": "from_generator with a generator that catches them",
    "fingerprint": "hash(tuple(...)) of the elements",
    "random": "counter() and map(function) with jt.random",
    "list_files": "glob.glob and from_generator",
    "save load snapshot": "np.savez and from_tensor_slices",
    "options with_options": "the arguments of prefetch and map",
}


def missing_method(dataset: type, name: str) -> AttributeError:
    """Return the error for an attribute that the class `dataset` does not have."""
    start = f"jt.data.Dataset has no {name!r}"
    for names, instead in _INSTEAD.items():
        if name in names.split():
            return AttributeError(f"{start}; use {instead}")
    near = [] if name.startswith("_") else difflib.get_close_matches(name, dir(dataset), 1, 0.7)
    return AttributeError(f"{start}; did you mean {near[0]!r}?" if near else start)


class Explained(type):
    """The class of `Dataset`: its missing methods are explained too if they are asked of the class itself."""

    def __getattr__(cls, name: str) -> Any:
        raise missing_method(cls, name)
