"""Machine code of a flush that runs a known program: see `Flushing._run_known`.

It checks everything before it changes anything; in all other cases Python runs the flush from the start. The run itself
cannot fail, and releases Python's global lock, so the caller holds the lock of the thread's flushes.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from jittape.compile.llvm.driver import run_table
from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import ObjectCode
from jittape.recording.machine_code.emit_operands import New, OwnedObjects, changed, recorder
from jittape.runtime.emit_result_sets import let_next_be_first, take_first
from jittape.runtime.emit_runner import fill_cells

__all__ = ["add_live", "clear", "define_run_known", "give", "needed_slots", "run_known"]


# ---- parts that other methods have, too --------------------------------------------------------------------------


def add_live(code: ObjectCode, pending: ir.Value, alive: ir.Value, failed: ir.Block) -> None:
    """Append to the list `alive` what is in the list `pending`, has no value and is referred to elsewhere, too."""
    held = ir.Constant(ir.IntType(32), code.places["held"])
    with code.each_item(pending) as (_, tensor):
        references = code.get_unchecked(tensor, "references", ir.IntType(32))
        wanted = code.builder.and_(
            code.differ(references, held),  # references besides the list's
            code.same(code.get_unchecked(tensor, "_buffer"), code.known("None")),
        )
        with code.builder.if_then(wanted):
            code.get(tensor, "_slot", failed)
            code.attempt(failed, "PyList_Append", alive, tensor)


def needed_slots(code: ObjectCode, alive: ir.Value, assigned: ir.Value, failed: ir.Block) -> ir.Value:
    """Return a new tuple of the slots of tensors and of the new values of Variables."""
    count, at = code.call("PyList_Size", alive), code.words(1)
    total = code.builder.add(count, code.call("PyDict_Size", assigned))
    needed = code.attempt(failed, "PyTuple_New", total)
    with code.each_item(alive) as (i, tensor):
        code.fill(needed, i, code.incref(code.get_unchecked(tensor, "_slot")))
    code.write(at, count)
    with code.each_value(assigned) as entry:
        code.fill(needed, code.read(at), code.incref(code.item(entry, 1)))
        code.write(at, code.builder.add(code.read(at), integer(1)))
    return needed


def give(
    code: ObjectCode,
    trace: ir.Value,
    alive: ir.Value,
    assigned: ir.Value,
    fresh: ir.Value,
    buffer_at: Callable[[ir.Value], ir.Value],
) -> None:
    """Give buffers to tensors and the assigned Variables; the trace gets the dictionary `fresh` for assignments."""
    with code.each_item(alive) as (i, tensor):
        code.put(tensor, "_buffer", code.incref(buffer_at(i)))
    code.incref(assigned)
    code.put(trace, "Trace.assigned", fresh)
    at = code.words(1)
    code.write(at, code.call("PyList_Size", alive))
    with code.each_value(assigned) as entry:
        variable, position = code.item(entry, 0), code.read(at)
        code.put(variable, "_buffer", code.incref(buffer_at(position)))
        for place in ("_assigned_in", "_trace"):
            code.put(variable, place, code.incref(code.known("None")))
        code.put(variable, "_slot", code.incref(code.known("minus one")))
        code.write(at, code.builder.add(position, integer(1)))
    code.decref(assigned)


_OWNED = (
    "workspace", "free", "pending", "assigned", "node", "alive", "successor", "fresh", "no_assignments", "key", "path",
    "fast", "results", "inputs",
)  # fmt: skip
"""Objects that a flush refers to. `free` is the list that the workspace came from."""


# ---- the flush ---------------------------------------------------------------------------------------------------


def define_run_known(new: New, function: ir.Function) -> None:
    """Emit ``Flushing._run_known(self, wanted)``."""
    code = new(function)
    code.builder.ret(run_known(new, code, *function.args))


def run_known(new: New, code: ObjectCode, trace: ir.Value, wanted: ir.Value) -> ir.Value:
    """Return whether a flush was a known run, as a bool of Python; the caller holds the lock of the trace."""
    return code.call_shared(
        "jittape_run_known", lambda function: _KnownRun(new, function).emit(), trace, wanted
    )


class _KnownRun:
    """The writer of the flush."""

    def __init__(self, new: New, function: ir.Function) -> None:
        self.code = code = new(function)
        self.trace, self.wanted = function.args
        self.refused = code.block("refused")
        self.owned = OwnedObjects(code, *_OWNED)

    def emit(self) -> None:
        code, builder, owned = self.code, self.code.builder, self.owned
        refused = self.refused
        self._require_end_of_trace()
        places = ("pending", "assigned", "node")
        parts = [self._keep(place, code.get(self.trace, f"Trace.{place}", refused)) for place in places]
        pending, assigned, node = parts
        length = code.call("PyList_Size", pending)
        alive, _ = [
            owned.keep(name, code.attempt(refused, "PyList_New", integer(0))) for name in ("alive", "fresh")
        ]
        owned.keep("no_assignments", code.attempt(refused, "PyDict_New"))
        add_live(code, pending, alive, refused)
        self._require_wanted(alive)
        successor = owned.keep("successor", new_trace(code, self.trace, refused))
        count = builder.add(code.call("PyList_Size", alive), code.call("PyDict_Size", assigned))
        nothing = code.same(count, integer(0))
        with builder.if_then(builder.not_(nothing), likely=True):
            run = self._prepare(node, alive, assigned)
        # The allocation of an object may have started the garbage collector, which runs finalizers.
        now = [code.get(self.trace, f"Trace.{place}", refused) for place in places]
        code.require_same(refused, *zip(now, parts, strict=True))
        code.require_same(refused, (code.call("PyList_Size", pending), length))
        code.put(self.trace, "Trace.pending", owned.take("fresh"))
        with builder.if_then(builder.not_(nothing), likely=True):
            buffers = run.run()
            give(
                code,
                self.trace,
                alive,
                assigned,
                owned.take("no_assignments"),
                lambda i: code.item(buffers, i),
            )
        supersede(code, self.trace, successor)
        owned.release()
        code.builder.ret(code.incref(code.known("True")))
        code.begin(refused)
        code.call("PyErr_Clear")
        with builder.if_then(code.differ(owned.read("workspace"), integer(0))):
            code.call("PyList_Append", owned.read("free"), owned.read("workspace"))
        owned.release()
        code.builder.ret(code.incref(code.known("False")))

    def _keep(self, name: str, value: ir.Value) -> ir.Value:
        """Own `value`, which is borrowed."""
        return self.owned.keep(name, self.code.incref(value))

    def _require_end_of_trace(self) -> None:
        """Require that the flush ends the trace, which this thread records, and that nothing was computed before."""
        code, refused = self.code, self.refused
        code.require(code.is_a(self.trace, "Trace"), refused)
        current = recorder(code, refused)
        code.decref(current)
        pairs = (
            (current, self.trace),
            (code.get(self.trace, "Trace.holders", refused), code.known("zero")),
            (code.get(self.trace, "Trace.large", refused), code.known("False")),
            (code.get(code.known("config"), "Config._interpret", refused), code.known("False")),
            (code.call("PyList_Size", code.get(self.trace, "Trace.materialized", refused)), integer(0)),
        )
        code.require_same(refused, *pairs)

    def _require_wanted(self, alive: ir.Value) -> None:
        """Require that the wanted tensor, if any, is alive or has a value."""
        code, builder, found = self.code, self.code.builder, self.code.words(1)
        code.write(found, builder.zext(code.same(self.wanted, code.known("None")), ir.IntType(64)))
        with builder.if_then(code.same(code.read(found), integer(0))):
            code.require(code.is_a(self.wanted, "Tensor"), self.refused)
            has_value = code.differ(code.get(self.wanted, "_buffer", self.refused), code.known("None"))
            code.write(found, builder.zext(has_value, ir.IntType(64)))
            with code.each_item(alive) as (_, tensor):
                here = builder.zext(code.same(tensor, self.wanted), ir.IntType(64))
                code.write(found, builder.or_(code.read(found), here))
        code.require(code.differ(code.read(found), integer(0)), self.refused)

    def _prepare(self, node: ir.Value, alive: ir.Value, assigned: ir.Value) -> _Run:
        """Find the run for these values, and count it."""
        code, refused = self.code, self.refused
        needed = needed_slots(code, alive, assigned, refused)
        parts = (needed, code.incref(code.known("empty")), code.incref(code.known("empty")))
        key = self.owned.keep("key", code.new_tuple(refused, *parts))
        executables = code.get(node, "Node.executables", refused)
        path = code.call("PyDict_GetItemWithError", executables, key)
        code.require(code.differ(path, integer(0)), refused)
        self._keep("path", path)
        is_path = [code.is_a(path, kind) for kind in ("PathExecutable", "GeneralPathExecutable")]
        code.require(code.builder.or_(*is_path), refused)
        fast = code.get(path, "PathExecutable._fast_run", refused)
        code.require(code.is_a(fast, "FastRun"), refused)
        code.require_same(refused, (code.get(fast, "FastRun.is_simple", refused), code.known("True")))
        run = _Run(self, self._keep("fast", fast))
        self._count(path, node)
        return run

    def _count(self, path: ir.Value, node: ir.Value) -> None:
        """Count the run as Python does; every `LOOP` runs Python looks for debuggers."""
        code, refused = self.code, self.refused
        counters = code.known("counters")
        found = code.size(code.get(counters, "Counters.paths_found", refused))
        rest = code.builder.urem(found, code.size(code.known("LOOP")))
        code.require(code.differ(code.builder.add(rest, integer(1)), code.size(code.known("LOOP"))), refused)
        for name in ("paths_found", "flushes", "compiled_runs"):
            self._increment(counters, f"Counters.{name}")
        self._increment(path, "PathExecutable.visits")
        code.put(path, "PathExecutable.ran_compiled", code.incref(code.known("True")))
        code.put(counters, "Counters.last", code.incref(path))
        clock = self._increment(code.known("trie"), "Trie.clock")
        code.put(node, "Node.stamp", code.incref(clock))

    def _increment(self, owner: ir.Value, place: str) -> ir.Value:
        """Add one to an int; return the sum, borrowed."""
        code = self.code
        total = changed(code, code.get(owner, place, self.refused), 1, self.refused)
        code.put(owner, place, total)
        return total


class _Run:
    """The writer of the run of a `FastRun`."""

    def __init__(self, flush: _KnownRun, fast: ir.Value) -> None:
        self.code = code = flush.code
        refused = flush.refused
        self.flush = flush
        poisoned = self._take_workspace(code.get(fast, "FastRun.free", refused))
        workspace = flush.owned.read("workspace")
        arena = code.get(workspace, "Workspace._arena", refused)
        code.require(code.differ(arena, code.known("None")), refused)
        self.table, self.slots = code.words(1), code.words(1)
        self.cells = code.index(code.get(workspace, "Workspace.address", refused), refused)
        code.write(self.slots, self.cells)
        self._take_results(workspace)
        with code.builder.if_then(poisoned, likely=False):
            self._poison(workspace)
        self._fill(workspace, code.index(code.get(fast, "FastRun.address", refused), refused))

    def _take_workspace(self, free: ir.Value) -> ir.Value:
        """Take a workspace, which no other thread can use from now on; return whether its memory is poisoned."""
        code, refused = self.code, self.flush.refused
        last = code.builder.sub(code.call("PyList_Size", free), integer(1))
        code.require(code.builder.icmp_signed(">=", last, integer(0)), refused)
        workspace = code.call("PyList_GetItem", free, last)
        poisoned = code.is_a(workspace, "PoisonedWorkspace")
        code.require(code.builder.or_(code.is_a(workspace, "Workspace"), poisoned), refused)
        self.flush.owned.keep("free", code.incref(free))
        self.flush.owned.keep("workspace", code.incref(workspace))
        code.call("PyList_SetSlice", free, last, code.builder.add(last, integer(1)), integer(0))
        return poisoned

    def _take_results(self, workspace: ir.Value) -> None:
        """Take the first set of results, if it is free."""
        code, refused = self.code, self.flush.refused
        memory = code.get(workspace, "Workspace._results", refused)
        self.found = self.flush.owned.word("results")
        constants = code.known("False"), code.known("None"), code.known("zero")
        take_first(code, memory, self.found, constants, refused)

    def _buffers(self) -> ir.Value:
        """Return the tuple of the results."""
        return self.code.item(self.code.read(self.found), 0)

    def _poison(self, workspace: ir.Value) -> None:
        """Fill the memory of the run as `config.poison_memory` says."""
        code, words = self.code, self.code.words(3)
        for i, value in enumerate((workspace, self._buffers(), code.known("empty"))):
            code.write(words, value, i)
        answer = code.call_object(code.known("PoisonedWorkspace.poison"), words, integer(3))
        code.require(code.differ(answer, integer(0)), self.flush.refused)
        code.decref(answer)

    def _fill(self, workspace: ir.Value, plan: ir.Value) -> None:
        """Write the addresses and numbers of inputs and results to the slot table."""
        code, refused = self.code, self.flush.refused
        inputs = self.flush.owned.keep("inputs", code.attempt(refused, "PyList_AsTuple", self._inputs()))
        code.write(self.table, code.read(plan))
        fill_cells(code, inputs, self.cells, plan, refused, refused)
        first = code.index(code.get(workspace, "Workspace._first", refused), refused)
        packed, cells = code.item(code.read(self.found), 1), code.builder.add(self.cells, first)
        addresses = code.call("PyBytes_AsString", packed)
        with code.each(code.length_of(self._buffers())) as i:
            code.write(cells, code.read(addresses, i), i)

    def _inputs(self) -> ir.Value:
        return self.code.get(self.flush.trace, "Trace.inputs", self.flush.refused)

    def run(self) -> ir.Value:
        """Run the table, make the workspace free and return the results, a tuple."""
        code, builder = self.code, self.code.builder
        memory = code.get_unchecked(self.flush.owned.read("workspace"), "Workspace._results")
        sets = code.get_unchecked(memory, "ResultMemory._sets")
        let_next_be_first(code, sets, self.found)
        with code.collector_released():
            run_table(builder, code.read(self.table), code.read(self.slots))
        code.call("PyList_Append", self.flush.owned.read("free"), self.flush.owned.read("workspace"))
        return self._buffers()


# ---- the end of the trace ----------------------------------------------------------------------------------------


def new_trace(code: ObjectCode, before: ir.Value, failed: ir.Block) -> ir.Value:
    """Return ``Trace(before)``; branch to `failed` if there is no memory."""
    trace = code.attempt(failed, "PyType_GenericAlloc", code.known("Trace"), integer(0))
    for place in ("inputs", "pending", "materialized", "intervals"):
        code.init(trace, f"Trace.{place}", code.attempt(failed, "PyList_New", integer(0)))
    for place in ("imported", "variables", "assigned", "callbacks"):
        code.init(trace, f"Trace.{place}", code.attempt(failed, "PyDict_New"))
    for place, name in _CONSTANTS.items():
        code.init(trace, f"Trace.{place}", code.incref(code.known(name)))
    for place in ("_flushing", "lost"):
        code.init(trace, f"Trace.{place}", code.incref(code.get(before, f"Trace.{place}", failed)))
    limit = code.get(code.known("config"), "Config._max_pending_ops", failed)
    code.init(trace, "Trace.limit", code.incref(limit))
    return trace


_CONSTANTS = {
    "node": "UNPLACED",
    "windows": "None",
    "exits": "None",
    "former": "SAME",
    "written": "NOTHING_WRITTEN",
    "large": "False",
    "superseded": "False",
    "holders": "zero",
    "_ops_when_left": "zero",
}
"""Values of the slots of a new trace by their names in the process's table."""
_CLEARED = {
    "node": "UNPLACED",
    "inputs": "empty",
    "materialized": "empty",
    "imported": "CLEARED",
    "variables": "CLEARED",
    "callbacks": "CLEARED",
    "exits": "None",
    "written": "NOTHING_WRITTEN",
}
"""Values of the slots of a superseded trace that no tape holds."""


def supersede(code: ObjectCode, trace: ir.Value, successor: ir.Value) -> None:
    """Make `successor` this thread's recorder, and clear `trace`."""
    code.call("PyObject_SetAttr", code.known("active"), code.known("recorder"), successor)
    code.put(trace, "Trace.superseded", code.incref(code.known("True")))
    clear(code, trace)


def clear(code: ObjectCode, trace: ir.Value) -> None:
    """Emit ``Trace._clear(trace)``."""
    for place, name in _CLEARED.items():
        code.put(trace, f"Trace.{place}", code.incref(code.known(name)))
