"""Thresholds: one record, overridden within a block, and kept apart in the caches."""

import ast
import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import jittape
from host_schedules import schedule
from jittape.compile.analysis.cost import cost_of_map
from jittape.compile.cache import object_store
from jittape.compile.rewrite.affine_maps import AffineMap, do_meet
from jittape.core.tuning import Tuning, tuning
from jittape.primitives.elementwise.division import divide_op
from jittape.primitives.elementwise.exponential import exp
from programs import program_of

ROOT = Path(jittape.__file__).parent
FIXED = {
    "compile/analysis/lapack_scratch.py": {"_BLOCK", "_REFLECTORS"},
    "compile/cache/batch_file.py": {"_HEADER_START"},
    "compile/cache/cache_folder.py": {"BLOCK", "_HOST_FILES"},
    "compile/cache/environment.py": {"_LOOK_SECONDS", "_SETTLED_SECONDS"},
    "compile/cache/private_files.py": {"DIGEST_SIZE", "FORMAT"},
    "compile/ir/index_maps.py": {"REMEMBERED"},
    "compile/ir/records.py": {"WORD"},
    "compile/ir/table_layouts.py": {"ABORTABLE", "CELL_BITS", "DIAGONAL_LOOPS", "ON_DEMAND", "SHARES_SHIFT"},
    "compile/kernels/gemm/small_gemm.py": {"_BLOCKS"},
    "compile/kernels/lapack/decompositions.py": {"_EXPONENTS"},
    "compile/kernels/loop/pairwise.py": {"LEVELS"},
    "compile/kernels/masks/emit_masks.py": {"_ONES"},
    "compile/kernels/scalar_vm/bytecode.py": {
        "CONSTANT",
        "END",
        "FIRST",
        "LOAD",
        "MOST_CELLS",
        "STORE",
        "_LARGEST",
    },
    "compile/llvm/built_in_functions.py": {"BY_NAMES", "NO_ARGUMENT", "ONE_ARGUMENT", "_FASTCALL"},
    "compile/llvm/compile_pool.py": {"_PATIENCE"},
    "compile/llvm/elf_image.py": {
        "_ABSOLUTE",
        "_ABSOLUTE_64",
        "_FAILED",
        "_LOADED",
        "_NO_CONTENT",
        "_PROGRAM",
        "_SPECIAL",
        "_SYMBOL_TABLE",
        "_THREAD_LOCAL",
        "_UNDEFINED",
        "_UNUSED",
        "_WITHOUT_ADDENDS",
        "_WITH_ADDENDS",
        "_WRITABLE",
    },
    "compile/llvm/interrupts.py": {"_ASSERTION", "_INTERRUPTED", "_NEVER", "_NO_MEMORY"},
    "compile/llvm/object_file.py": {"_COFF_EXTERNAL", "_ELF_SYMBOL_TABLE", "_MACHO_SYMBOL_TABLE"},
    "compile/llvm/symbols.py": {"PYTHON_FUNCTIONS"},
    "compile/llvm/thread_pool.py": {"MOST_SKIPPED", "OPEN", "ONE_INSIDE"},
    "runtime/clocked_executable.py": {"_EVENTS"},
    "runtime/emit_runner.py": {"_HEAD"},
    "runtime/general_executable.py": {
        "_FIRST_RUN_SLACK",
        "_MOST_FAILURES",
        "_MOST_UNSERVED",
        "_MOST_VARIANTS",
        "_OFFSETS",
        "_PROVISIONAL_SHARE",
    },
    "runtime/result_memory.py": {"_BATCH_BYTES", "_BATCH_SETS"},
    "runtime/table_templates.py": {"_MASK"},
    "runtime/threads.py": {"MOST"},
    "runtime/workspace.py": {"POISON", "_LARGEST_RATIO"},
}
"""Numbers that are no thresholds: formats, sentinels, offsets, capacities of tables, registers, LAPACK's memory."""


def is_numeric(node: ast.AST) -> bool:
    """Return whether an expression consists of numbers, or is a dictionary of numbers."""
    if isinstance(node, ast.Dict):
        return bool(node.values) and all(map(is_numeric, node.values))
    if isinstance(node, ast.Tuple):
        return any(map(is_numeric, node.elts))
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.BinOp):
        return is_numeric(node.left) or is_numeric(node.right)
    return isinstance(node, ast.UnaryOp) and is_numeric(node.operand)


def numeric_constants(source: str) -> set[str]:
    """Return the names of a module's UPPERCASE numeric constants."""
    found = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and is_numeric(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return {name for name in found if re.fullmatch("_?[A-Z][A-Z0-9_]*", name)}


def test_thresholds_are_fields_of_the_record() -> None:
    paths = [path for folder in ("compile", "runtime") for path in sorted((ROOT / folder).rglob("*.py"))]
    found = {path.relative_to(ROOT).as_posix(): numeric_constants(path.read_text("utf-8")) for path in paths}
    assert {name: constants for name, constants in found.items() if constants} == FIXED


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("A = 1 << 3", {"A"}),
        ("_B: int = -2", {"_B"}),
        ("C, D = 64, 1 << 16", {"C", "D"}),
        ("E = {'a': 400}", {"E"}),
        ("F = G // 2", {"F"}),
        ("h = 3\nI = 'text'\nJ = True\nK = f(2)", set()),
    ],
)
def test_constants_are_found(source: str, found: set[str]) -> None:
    assert numeric_constants(source) == found


def test_every_threshold_is_documented_and_read() -> None:
    body = next(
        node
        for node in ast.parse((ROOT / "core" / "tuning.py").read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
    ).body
    documented = {
        node.target.id
        for node, after in itertools.pairwise(body)
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and isinstance(after, ast.Expr)
    }
    read = "".join(path.read_text("utf-8") for path in ROOT.rglob("*.py"))
    names = set(Tuning.__annotations__)
    assert documented == names
    assert names - {*re.findall(r"\b(?:tuning|self)\.(\w+)", read)} == set()


def changed_thresholds() -> list[str]:
    return [name for name in Tuning.__annotations__ if getattr(tuning, name) != getattr(Tuning, name)]


def test_an_override_ends_with_its_block() -> None:
    with tuning.override(split_cost_limit=4):
        with tuning.override(split_cost_limit=5, task_ns=1):
            assert (tuning.split_cost_limit, tuning.task_ns) == (5, 1)
        assert (tuning.split_cost_limit, tuning.task_ns) == (4, Tuning().task_ns)
        assert tuning.label == "split_cost_limit=4"
        with pytest.raises(ValueError, match="inside"), tuning.override(task_ns=1):
            raise ValueError("inside")
    assert changed_thresholds() == []
    assert tuning.label == ""


def test_unknown_thresholds_are_refused() -> None:
    with pytest.raises(TypeError, match="no such thresholds: split_limit"), tuning.override(split_limit=4):
        pass
    assert changed_thresholds() == []


def test_values_computed_from_thresholds_follow() -> None:
    assert tuning.work_per_thread_ns == 10_000
    with tuning.override(parallel_work_ns=1):
        assert tuning.work_per_thread_ns == 1


def test_an_override_clears_what_was_computed_with_other_thresholds() -> None:
    def cost() -> int:
        return cost_of_map(divide_op, (), (np.dtype(float), np.dtype(float)))

    before = cost()
    with tuning.override(instruction_costs={"fdiv": 100}):
        assert cost() > before
    assert cost() == before
    apart = (((2,), (AffineMap(0, ((0, 1),)),)), ((2,), (AffineMap(2, ((0, 1),)),)))
    assert not do_meet(apart, (4,))
    with tuning.override(overlap_check_elements=0):
        assert do_meet(apart, (4,))
    assert not do_meet(apart, (4,))


def test_code_of_other_thresholds_has_other_names_and_another_folder() -> None:
    def name() -> str:
        (step,) = schedule(program_of(exp, np.ones(3))).steps
        return step.kernel.name

    before, usual = name(), object_store.current()
    with tuning.override(heavy_loop_cost=0):
        other = object_store.current()
        assert name() != before
    assert name() == before
    assert usual is not None
    assert other is not None
    assert other.parts == usual.parts | {"thresholds": "heavy_loop_cost=0"}
    assert object_store.current() is usual
