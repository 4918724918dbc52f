"""Schedule cache on disk: a large program that any process has run is not simplified and scheduled again.

A cached schedule has the names of kernels and integers. The ops of its steps, which explain it, are left out and
recomputed on demand. The key is a hash of all that determines the schedule: the program as recorded, with its shapes
and constants, and the kernels of the BLAS; the cache's folder stands for the sources of the package. The 4,600 ops of
an unrolled loop are simplified and scheduled in 0.23 s and loaded in 0.02 s.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from array import array
from functools import lru_cache
from typing import Any

import numpy as np

from jittape.compile.cache import object_store
from jittape.compile.cache.fingerprint import covers
from jittape.compile.cache.kernel_cache import is_builtin, is_cacheable
from jittape.compile.ir.kernel import NamedKernel
from jittape.compile.llvm.blas import blas
from jittape.compile.schedule.row_tiling import RowTile
from jittape.compile.schedule.steps import KernelStep, Schedule
from jittape.core.dtypes import as_dtype
from jittape.core.forms import Call, Control, Decomposition
from jittape.core.primitive import Primitive
from jittape.core.program import Aval, Program
from jittape.core.tuning import tuning
from jittape.primitives.shape.views import Region

__all__ = ["is_known", "is_plain", "load_schedule", "schedule_key", "store_schedule"]

_PLAIN = frozenset((bool, int, float, str, type(None)))


def schedule_key(program: Program, donated: tuple[tuple[int, int], ...]) -> str | None:
    """Return the key of a program's schedule; None if it is small or may differ in another process."""
    if len(program.ops) < tuning.stored_schedule_ops:
        return None
    number = {slot: i for i, slot in enumerate(program.inputs)}
    texts: dict[str, int] = {}
    known: dict[tuple[Primitive, int], int] = {}  # by identity of the parameters, which most ops share
    numbers: list[int] = []
    for primitive, args, params, out, _ in program.ops:
        text = known.get((primitive, id(params)))
        if text is None:
            known_name = is_known(primitive) and not isinstance(primitive.lowering, Control)
            if not known_name or not all(is_plain(value) for _, value in params):
                return None
            text = texts.setdefault(f"{primitive.name} {params}", len(texts))
            known[primitive, id(params)] = text
        numbers += (text, len(args), *[number[slot] for slot in args])
        number[out] = len(number)
    numbers += [number[slot] for slot in program.outputs]
    lines = [
        repr(donated),
        *[f"{aval.dtype.name}{aval.shape}" for aval in program.input_avals()],
        *texts,
        str(len(program.ops)),
    ]
    if any(isinstance(primitive.lowering, Call | Decomposition) for primitive, _ in known):
        lines.append(f"BLAS: {blas().unpacked}, {blas().library is not None}")
    digest = hashlib.blake2b("\n".join(lines).encode(), digest_size=16)
    digest.update(array("q", numbers))
    return "p" + digest.hexdigest()


@lru_cache(maxsize=1024)
def is_known(primitive: Primitive) -> bool:
    """Return whether the name of a primitive has the same meaning in every process."""
    rule = primitive.abstract_eval
    return inspect.isfunction(rule) and covers(rule.__code__.co_filename) and is_builtin(primitive)


def is_plain(value: Any) -> bool:
    """Return whether a parameter is determined by its `repr`."""
    kind = type(value)
    if kind in _PLAIN:
        return True
    return all(map(is_plain, value)) if kind in (tuple, Region) else isinstance(value, np.dtype)


def store_schedule(key: str, schedule: Schedule) -> None:
    """Write a schedule to disk if all of its kernels are cached."""
    cache = object_store.current()
    if cache is None or not all(isinstance(s, KernelStep) and not s.kernel.abortable for s in schedule.steps):
        return
    steps = [step for step in schedule.steps if isinstance(step, KernelStep)]
    kernels = {step.kernel.name: step.kernel for step in steps}
    names = list(kernels)
    tiles = list(dict.fromkeys([step.tile for step in steps if step.tile is not None]))
    if not all(map(is_cacheable, kernels.values())):
        return
    content = {
        "kernels": names,
        "tiles": [[t.blocks, t.groups, t.region, t.moved, t.work] for t in tiles],
        "steps": [
            [
                names.index(step.kernel.name),
                step.storages,
                step.sizes,
                step.tasks,
                step.work,
                -1 if step.tile is None else tiles.index(step.tile),
            ]
            for step in steps
        ],
        "outputs": schedule.outputs,
        "results": [[aval.shape, aval.dtype.name] for aval in schedule.results],
        "offsets": schedule.offsets,
        "lengths": schedule.lengths,
        "arena": schedule.arena,
        "in_place": schedule.in_place,
    }
    cache.publish(object_store.Batch((key,), json.dumps(content, default=int).encode()))


def load_schedule(key: str, program: Program) -> Schedule | None:
    """Return the schedule with that key, with kernel names and without ops; None if it is not on disk."""
    cache = object_store.current()
    found = None if cache is None else cache.find(key)
    if cache is None or found is None:
        return None
    try:
        return _unpacked(json.loads(found.code), program)
    except (ValueError, LookupError, TypeError):
        cache.discard(key)
        return None


def _unpacked(content: Any, program: Program) -> Schedule:
    kernels = [NamedKernel((), name) for name in content["kernels"]]
    tiles = [
        RowTile(blocks, groups, region, tuple([(slot, nbytes) for slot, nbytes in moved]), work)
        for blocks, groups, region, moved, work in content["tiles"]
    ]
    steps = tuple(
        [
            KernelStep(
                kernels[kernel],
                tuple(storages),
                tuple(sizes),
                (),
                tasks,
                work,
                None if tile < 0 else tiles[tile],
            )
            for kernel, storages, sizes, tasks, work, tile in content["steps"]
        ]
    )
    return Schedule(
        program,
        steps,
        tuple(content["outputs"]),
        tuple([Aval(tuple(shape), as_dtype(dtype)) for shape, dtype in content["results"]]),
        tuple(content["offsets"]),
        tuple(content["lengths"]),
        content["arena"],
        tuple([(given, result, read) for given, result, read in content["in_place"]]),
        (),
    )
