"""Schedules on disk: found by another process, and made again when anything is wrong with them."""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.compile.cache import cache_folder, object_store, schedule_cache
from jittape.compile.cache.batch_file import Batch
from jittape.compile.cache.kernel_cache import KernelMissing, Registry
from jittape.compile.cache.schedule_cache import schedule_key
from jittape.compile.ir.kernel import NamedKernel
from jittape.compile.ir.table_layouts import KERNEL_CALL, LAUNCH_HEAD
from jittape.compile.llvm.blas import Blas
from jittape.compile.schedule.column_schedule import ColumnSchedule
from jittape.compile.schedule.steps import KernelStep, Schedule
from jittape.core.buffers import Buffer
from jittape.core.forms import Map
from jittape.core.interpret import interpret
from jittape.core.primitive import Primitive
from jittape.core.program import Op, Program
from jittape.core.tuning import tuning
from jittape.primitives.broadcast import broadcast_back, sum_op
from jittape.primitives.elementwise.arithmetic import add, multiply
from jittape.primitives.elementwise.exponential import exp
from jittape.primitives.elementwise.trigonometric import sin
from jittape.primitives.linalg.matmul import matmul_op
from jittape.primitives.record_parts import same_float
from jittape.primitives.reduce.reductions import max_op
from jittape.runtime import executable as executable_module
from jittape.runtime import launch_tables
from jittape.runtime.executable import CompiledExecutable, executable_of
from processes import run_python
from programs import program_of

X = np.linspace(0.0, 1.0, 50)
W = np.linspace(-1.0, 1.0, 36).reshape(6, 6)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def chain(x: Any, number: float = 0.25) -> Any:
    for _ in range(tuning.stored_schedule_ops // 2):
        x = add(sin(x), multiply(x, number))
    return x, exp(x)


def layers(x: Any, w: Any) -> Any:
    for _ in range(tuning.stored_schedule_ops // 2):
        x = sin(matmul_op.bind(x, w))
    return x


def values(executable: CompiledExecutable, *arrays: Any) -> list[bytes]:
    return [buffer.array.tobytes() for buffer in executable.run([Buffer(a) for a in arrays])]


def made(monkeypatch: pytest.MonkeyPatch, program: Program) -> tuple[CompiledExecutable, int]:
    """The executable, and how many schedules were made for it."""
    count = []
    schedule = executable_module.schedule
    with monkeypatch.context() as patch:
        patch.setattr(
            executable_module,
            "schedule",
            lambda *given, **named: count.append(given) or schedule(*given, **named),
        )
        return executable_of(program, frozenset()), len(count)


@pytest.mark.parametrize(("function", "arrays"), [(chain, [X]), (layers, [W, W])])
def test_a_schedule_is_made_once(
    monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], arrays: list[Any]
) -> None:
    program = program_of(function, *arrays)
    first, scheduled = made(monkeypatch, program)
    again, scheduled_again = made(monkeypatch, program)
    assert (scheduled, scheduled_again) == (1, 0)
    assert (first.is_cached, again.is_cached) == (False, True)
    assert values(first, *arrays) == values(again, *arrays)
    for value, wanted in zip(first.run([Buffer(a) for a in arrays]), interpret(program, arrays), strict=True):
        np.testing.assert_allclose(value.array, wanted, rtol=1e-9)


def updated(x: Any, v: Any) -> Any:
    """In place, in strips, with a result twice and an input among the results."""
    y = chain(x)[0]
    z = add(y, broadcast_back(max_op.bind(exp(y), axes=(1,)), y.shape, (1,)))
    return z, sum_op.bind(z, axes=(1,)), x, z, multiply(v, 0.9)


def test_nothing_of_what_runs_is_forgotten() -> None:
    """A new field of a schedule is kept too, or this says so."""
    program = program_of(updated, np.ones((4000, 100)), np.ones(1000))
    first = executable_of(program, frozenset(), ((1, 4),)).schedule
    again = executable_of(program, frozenset(), ((1, 4),)).schedule
    assert again.steps[0].ops == ()
    assert first.in_place
    assert any(isinstance(step, KernelStep) and step.tile for step in first.steps)
    for field in fields(Schedule):
        if field.name not in ("program", "steps", "spare"):
            assert getattr(again, field.name) == getattr(first, field.name), field.name
    for step, same in zip(first.steps, again.steps, strict=True):
        assert step.kernel is not None
        assert same.kernel is not None
        assert same.kernel.name == step.kernel.name
        for field in fields(KernelStep):
            one, other = getattr(step, field.name), getattr(same, field.name)
            if field.name == "tile" and one is not None:
                one, other = asdict(one), asdict(other)
            assert one == other or field.name in ("kernel", "ops"), field.name


def test_the_launch_table_is_made_without_step_objects() -> None:
    """It is the one that the steps give: the same calls, and the same words that they point to."""
    arrays = np.ones((4000, 100)), np.ones(1000)
    program = program_of(updated, *arrays)
    first, again = (executable_of(program, frozenset()) for _ in range(2))
    assert values(first, *arrays) == values(again, *arrays)
    stored = again.schedule
    assert isinstance(stored, ColumnSchedule)
    assert "steps" not in vars(stored)
    plain = Schedule(*[getattr(stored, field.name) for field in fields(Schedule)])
    addresses = dict.fromkeys([kernel.name for kernel in stored.kernels], 8)
    one, other = (launch_tables.segments(x, again.layout, addresses)[0] for x in (stored, plain))
    assert isinstance(one, launch_tables.LaunchTable)
    assert isinstance(other, launch_tables.LaunchTable)
    for words, same in zip(one.memory[1:3], other.memory[1:3], strict=True):
        assert words.tolist() == same.tolist()
    assert [len(words) for words in one.memory] == [len(words) for words in other.memory]
    pointers = set(range(LAUNCH_HEAD.words)) | {
        LAUNCH_HEAD.words + KERNEL_CALL.words * call + KERNEL_CALL.names.index(name)
        for call in range(len(stored.steps))
        for name in ("slots", "sizes")
    }
    calls = [
        [n for i, n in enumerate(table.memory[0].tolist()) if i not in pointers] for table in (one, other)
    ]
    assert calls[0] == calls[1]


def test_columns_that_do_not_belong_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_of(chain, X)
    wanted = values(made(monkeypatch, program)[0], X)
    cache, key, (head, columns) = plan_of(program)
    for changed in (
        {"kernels": columns.kernels + 1},
        {"storages": columns.storages + 1},
        {"tiles": columns.tiles - 1},
        {"size_counts": columns.size_counts - 1},
        {"tasks": columns.tasks[1:]},
    ):
        cache.publish(Batch((key,), schedule_cache._packed(head, columns._replace(**changed))))
        again, scheduled = made(monkeypatch, program)
        assert (scheduled, values(again, X)) == (1, wanted), list(changed)


def test_it_is_explained_like_any_other() -> None:
    program = program_of(chain, X)
    first, again = executable_of(program, frozenset()), executable_of(program, frozenset())
    assert again.is_cached
    assert [step.ops for step in again.steps] == [step.ops for step in first.steps]
    assert again.listing == first.listing
    assert all(step.ops for step in again.steps)


def renumbered(program: Program, by: int) -> Program:
    ops = tuple(
        [Op(op.primitive, tuple([a + by for a in op.args]), op.params, op.out + by) for op in program.ops]
    )
    slots = [tuple([slot + by for slot in found]) for found in (program.inputs, program.outputs)]
    return Program(slots[0], ops, slots[1], {slot + by: aval for slot, aval in program.avals.items()})


def test_what_decides_the_name_and_what_does_not() -> None:
    program = program_of(chain, X)
    key = schedule_key(program, ())
    assert key == schedule_key(program_of(chain, X), ())
    assert key == schedule_key(renumbered(program, 1000), ())
    others = [
        schedule_key(program_of(chain, X[:49]), ()),
        schedule_key(program_of(chain, X.astype(np.float32)), ()),
        schedule_key(program_of(lambda x: chain(x, 0.5), X), ()),
        schedule_key(program_of(lambda x: chain(x, -0.0), X), ()),
        schedule_key(program_of(lambda x: chain(x, 0.0), X), ()),
        schedule_key(program_of(lambda x: chain(x)[0], X), ()),
        schedule_key(program, ((0, 0),)),
    ]
    assert None not in others
    assert len({key, *others}) == 1 + len(others)


def test_the_kernels_of_the_blas_are_a_part_of_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_of(layers, W, W)
    keys = set()
    for unpacked in (True, False):
        monkeypatch.setattr(Blas, "unpacked", unpacked)
        keys.add(schedule_key(program, ()))
    assert len(keys) == 2


def test_small_programs_and_the_users_own_primitives_are_not_kept(folder: Path) -> None:
    own = Primitive("own", same_float("own"), np.sin, lowering=Map(lambda m, x: m.sin(x)))
    foreign = Primitive("foreign", lambda x: x, np.sin, lowering=None)
    assert schedule_key(program_of(lambda x: exp(sin(x)), X), ()) is None
    for primitive in (own, foreign):
        program = program_of(lambda x, p=primitive: p.bind(chain(x)[0]), X)
        assert schedule_key(program, ()) is None
        executable_of(program, frozenset())
    assert not list(folder.glob("*/p*"))


def plan_of(program: Program) -> tuple[object_store.DiskCache, str, tuple[Any, Any]]:
    cache, key = object_store.current(), schedule_key(program, ())
    assert cache is not None
    assert key is not None
    found = cache.find(key)
    assert found is not None
    return cache, key, schedule_cache._unpacked(found.code)


@pytest.mark.parametrize(
    "code",
    [
        *(b"", b"not marshal", *map(marshal.dumps, (None, {}, [], {"columns": ()}, {"columns": (1,)}))),
        *(marshal.dumps({"columns": columns}) + b"12345678" for columns in ((1,), "ab", (1, *[0] * 9))),
        marshal.dumps({"columns": (1,)}) + b"1234567",
    ],
)
def test_a_damaged_schedule_is_made_again(monkeypatch: pytest.MonkeyPatch, code: bytes) -> None:
    """The checksum is right, what is under it is not."""
    program = program_of(chain, X)
    wanted = values(made(monkeypatch, program)[0], X)
    cache, key, _ = plan_of(program)
    cache.discard(key)
    cache.publish(Batch((key,), code))
    again, scheduled = made(monkeypatch, program)
    assert (scheduled, values(again, X)) == (1, wanted)
    assert made(monkeypatch, program)[1] == 0


def test_a_file_that_is_cut_off_or_flipped_is_made_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = program_of(chain, X)
    wanted = values(made(monkeypatch, program)[0], X)
    key = plan_of(program)[1]
    for damage in (lambda b: b[:-5], lambda b: b[:100] + bytes([b[100] ^ 1]) + b[101:]):
        (pointer,) = folder.glob(f"*/{key}")
        batch = pointer.parent / pointer.read_text()
        batch.write_bytes(damage(batch.read_bytes()))
        again, scheduled = made(monkeypatch, program)
        assert (scheduled, values(again, X)) == (1, wanted)


def test_a_schedule_whose_kernels_are_gone_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_of(chain, X)
    wanted = values(made(monkeypatch, program)[0], X)
    cache, key, (head, columns) = plan_of(program)
    head["kernels"] = ["k" + "0" * 16] * len(head["kernels"])
    cache.publish(Batch((key,), schedule_cache._packed(head, columns)))
    again, scheduled = made(monkeypatch, program)
    assert (scheduled, values(again, X)) == (1, wanted)
    with pytest.raises(KernelMissing):
        Registry().addresses([NamedKernel((), "k" + "0" * 16)])


ANOTHER_PROCESS = """
import json
import numpy as np
import jittape as jt
from jittape.runtime import executable

scheduled = []
schedule = executable.schedule
executable.schedule = lambda *given, **named: scheduled.append(given) or schedule(*given, **named)

@jt.function
def loss(x, w):
    for step in range(100):
        x = jt.tanh(x @ w) + 0.1 * x
    return jt.reduce_sum(x * x)

x, w = np.linspace(-1, 1, 40).reshape(5, 8), np.linspace(-1, 1, 64).reshape(8, 8)
value, gradient = jt.value_and_grad(loss)(x, w)
stats = jt.stats()
print(json.dumps([float(value).hex(), np.asarray(gradient).tobytes().hex(), len(scheduled), stats.kernels]))
"""


def test_another_process_finds_it() -> None:
    first, second = (json.loads(run_python("-c", ANOTHER_PROCESS).stdout) for _ in range(2))
    assert first[:2] == second[:2]
    assert first[2] > 0
    assert first[3] > 0
    assert second[2:] == [0, 0]


def test_it_is_deleted_with_the_kernels(folder: Path) -> None:
    executable_of(program_of(chain, X), frozenset())
    assert list(folder.glob("*/p*"))
    kernels = cache_folder.summarize(folder).kernels
    assert kernels == len([p for p in folder.glob("*/*") if p.name[0] != "p" and p.name[:6] != "batch-"])
    cache_folder.clear(folder)
    assert not list(folder.iterdir())


def test_without_a_cache_nothing_is_kept(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(jt.config, "_cache", False)
    program = program_of(chain, X)
    assert [made(monkeypatch, program)[1] for _ in range(2)] == [1, 1]
    assert not folder.exists()


FIRST_PROGRAM = """
import sys
import numpy as np
import jittape as jt

@jt.function
def value_and_gradient(x):
    with jt.GradientTape() as tape:
        tape.watch(x)
        y = jt.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
    return y, tape.gradient(y, x)

value, slope = value_and_gradient(jt.Variable(np.arange(5.0)))
print(value.numpy(), slope.numpy())
print(any(name in sys.modules for name in sys.argv[1:]))
"""
COMPILER = ("jittape.compile.schedule.pipeline", "jittape.compile.cache.emit_kernel", "optree")


def test_a_process_that_finds_everything_on_disk_imports_no_passes() -> None:
    first, second = (run_python("-c", FIRST_PROGRAM, *COMPILER) for _ in range(2))
    assert (first.stderr, second.stderr) == ("", "")
    *values, compiled = first.stdout.splitlines()
    assert compiled == "True"
    x = np.arange(5.0)
    slope = np.zeros(5)
    slope[1:] += 200.0 * (x[1:] - x[:-1] ** 2)
    slope[:-1] -= 400.0 * x[:-1] * (x[1:] - x[:-1] ** 2) + 2.0 * (1.0 - x[:-1])
    value = np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)
    assert values == [f"{value} {slope}"]
    assert second.stdout.splitlines() == [*values, "False"]


def test_the_first_small_programs_of_a_process_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_cache, "small_programs", count(tuning.first_stored_schedules - 2))
    program = program_of(lambda x: exp(sin(x)), X)
    first, again, later = (executable_of(program, frozenset()) for _ in range(3))
    assert (first.is_cached, again.is_cached, later.is_cached) == (False, True, False)
    assert values(first, X) == values(again, X) == values(later, X)
    assert again.schedule.steps[0].ops == ()


def test_numbers_of_64_bits_are_kept() -> None:
    """The bits of a negative float, which are a size of bytecode, are a number above the range of int64."""
    bits = int(np.float64(-1.5).view(np.uint64))
    program = program_of(chain, X)
    made = executable_of(program, frozenset()).schedule
    step = made.steps[0]
    assert isinstance(step, KernelStep)
    sizes = (bits, -3, 2**63 - 1, -(2**63))
    changed = replace(made, steps=(replace(step, sizes=sizes), *made.steps[1:]))
    schedule_cache.store_schedule("p" + "0" * 32, changed)
    again = schedule_cache.load_schedule("p" + "0" * 32, program)
    assert again is not None
    (kept, *_) = again.steps
    assert isinstance(kept, KernelStep)
    assert [n % 2**64 for n in kept.sizes] == [n % 2**64 for n in sizes]
    for numbers in (sizes, kept.sizes):
        assert launch_tables._as_words(list(numbers)).tolist() == [bits - 2**64, *sizes[1:]]
