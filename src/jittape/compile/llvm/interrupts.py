"""Abort of a run: Ctrl-C in a loop, a stack that cannot grow, an index out of bounds.

Each run has an *abort state*, an `ABORT_STATE` on the stack of the function that walks a launch table. It holds the
address of the function that checks for interrupts, so loops in a user's own `@njit` code need no symbol. A run with
NumPy steps walks several tables, each with an abort state of its own. A stack may be grown under one table and freed
under a later one, so the list of stacks is handed from state to state through a word that the run owns. The drivers of
loops and branches get the address of the abort state for the task. After an abort no step begins, and the results of
the run are dropped.

Ctrl-C becomes an exception when Python checks for signals, which a loop without the GIL must ask for. The loop counts
iterations: as many as take much less than a second. Then it reads the clock; if the second has changed, it takes the
GIL and lets Python check. The clock costs 4 ns. Python checks once per second, since other threads may hold the GIL for
5 ms. Only the main thread is ever interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from llvmlite import ir

from jittape.compile.ir.table_layouts import ABORT_STATE, GROWN_STACK
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import BYTES, alloca_once, external, integer
from jittape.compile.llvm.ir_records import IRRecord
from jittape.core.tuning import tuning

__all__ = [
    "add_stack",
    "adopt_abort",
    "check_interrupts",
    "fail_allocation",
    "fail_assertion",
    "is_aborted",
    "is_assertion_failed",
    "leave_stacks",
    "new_abort_state",
    "raise_error",
    "release_stack",
    "release_stacks",
    "take_stacks",
]

_I64, _I32, _VOID = ir.IntType(64), ir.IntType(32), ir.VoidType()
_CHECK = ir.FunctionType(_VOID, [_I64])
_NEVER = 2**62
_INTERRUPTED, _NO_MEMORY, _ASSERTION = 1, 2, 3


def new_abort_state(builder: ir.IRBuilder, interruptible: bool = True) -> ir.Value:
    """Emit the abort state of a new run and return its address; only an `interruptible` run asks Python."""
    memory = alloca_once(builder, ir.ArrayType(_I64, ABORT_STATE.words))
    address = builder.ptrtoint(memory, _I64)
    state = _state(builder, address)
    for name in ABORT_STATE.names:
        state.store(name, integer(0))
    if interruptible:
        state.store("check", builder.ptrtoint(_check(builder.module), _I64))
    else:
        state.store("countdown", integer(_NEVER))
    return address


def _state(builder: ir.IRBuilder, address: ir.Value) -> IRRecord:
    return IRRecord(builder, ABORT_STATE, address)


def _stack(builder: ir.IRBuilder, address: ir.Value) -> IRRecord:
    return IRRecord(builder, GROWN_STACK, address)


def is_aborted(builder: ir.IRBuilder, state: ir.Value) -> ir.Value:
    """Emit the test whether the run is aborted."""
    return builder.icmp_signed("!=", _state(builder, state).load("outcome"), integer(0))


def fail_assertion(builder: ir.IRBuilder, state: ir.Value) -> None:
    """Emit an abort by an `Assert` of the program."""
    _abort(builder, state, _ASSERTION)


def is_assertion_failed(builder: ir.IRBuilder, state: ir.Value) -> ir.Value:
    """Emit the test whether an `Assert` has aborted the run."""
    return builder.icmp_signed("==", _state(builder, state).load("outcome"), integer(_ASSERTION))


def adopt_abort(builder: ir.IRBuilder, state: ir.Value, ended: ir.Value) -> None:
    """Emit an abort of the run with `state` if the part of it with the state `ended` was aborted.

    The stacks of the part are freed. Several threads may abort the run at the same time: any reason is right.
    """
    with builder.if_then(is_aborted(builder, ended), likely=False):
        release_stacks(builder, ended)
        _state(builder, state).store("outcome", _state(builder, ended).load("outcome"))
        _state(builder, state).store("countdown", integer(0))


# ---- Ctrl-C ----------------------------------------------------------------------------------------------------------


def check_interrupts(builder: ir.IRBuilder, state: ir.Value, end: ir.Block) -> None:
    """Emit the check at the start of an iteration, which now and then reads the clock; an abort branches to `end`."""
    record = _state(builder, state)
    place = record.place("countdown")
    left = builder.sub(builder.load(place), integer(1))
    builder.store(left, place)
    rarely, on = (builder.append_basic_block(name) for name in ("rarely", "on"))
    branch = builder.cbranch(builder.icmp_signed("<", left, integer(0)), rarely, on)
    branch.set_weights([1, 99])
    builder.position_at_end(rarely)
    check = record.load("check")
    with builder.if_then(builder.icmp_signed("!=", check, integer(0))):
        builder.call(builder.inttoptr(check, _CHECK.as_pointer()), [state])
    builder.cbranch(is_aborted(builder, state), end, on)
    builder.position_at_end(on)


def _abort(builder: ir.IRBuilder, state: ir.Value, outcome: int) -> None:
    """Emit an abort; the zero countdown lets every loop check the state in its next iteration."""
    record = _state(builder, state)
    record.store("outcome", integer(outcome))
    record.store("countdown", integer(0))


def _check(module: ir.Module) -> ir.Function:
    """Return the function that reads the clock and lets Python check for signals once per second."""
    known = module.globals.get("jittape_check")
    if known is not None:
        return known
    function = ir.Function(module, _CHECK, "jittape_check")
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = Builder(function.append_basic_block("entry"))
    (state,) = function.args
    record = _state(builder, state)
    with builder.if_then(is_aborted(builder, state)):
        record.store("countdown", integer(0))
        builder.ret_void()
    clock = external(module, ir.FunctionType(_I64, [BYTES]), "jittape_seconds")
    second = builder.call(clock, [ir.Constant(BYTES, None)])
    interval, before = record.load("interval"), record.load("second")
    passed = builder.icmp_signed("!=", second, before)
    longer = builder.add(builder.shl(interval, integer(1)), integer(1))
    most = integer(tuning.interrupt_check_iterations)
    longer = builder.select(builder.icmp_signed("<", longer, most), longer, most)
    interval = builder.select(passed, builder.lshr(interval, integer(3)), longer)
    record.store("interval", interval)
    record.store("countdown", interval)
    record.store("second", second)
    first = builder.icmp_signed("==", before, integer(0))
    with builder.if_then(builder.and_(passed, builder.not_(first)), likely=False):
        take = external(module, ir.FunctionType(_I32, []), "PyGILState_Ensure")
        give = external(module, ir.FunctionType(_VOID, [_I32]), "PyGILState_Release")
        signals = external(module, ir.FunctionType(_I32, []), "PyErr_CheckSignals")
        gil = builder.call(take, [])
        raised = builder.icmp_signed("!=", builder.call(signals, []), ir.Constant(_I32, 0))
        builder.call(give, [gil])
        with builder.if_then(raised):
            _abort(builder, state, _INTERRUPTED)
    builder.ret_void()
    return function


# ---- stacks that grow ------------------------------------------------------------------------------------------------


def fail_allocation(builder: ir.IRBuilder, state: ir.Value) -> None:
    """Emit an abort for lack of memory."""
    _abort(builder, state, _NO_MEMORY)


def add_stack(builder: ir.IRBuilder, state: ir.Value, stack: ir.Value) -> None:
    """Emit the addition of a grown stack, given the address of its record, to the list of the run."""
    head = _state(builder, state).place("stacks")
    _stack(builder, stack).store("next", builder.load(head))
    builder.store(stack, head)


def release_stack(builder: ir.IRBuilder, state: ir.Value, stack: ir.Value) -> None:
    """Emit the removal of a stack from the list, and free its memory."""
    place = builder.alloca(_I64.as_pointer())
    builder.store(_state(builder, state).place("stacks"), place)
    with _while(builder, lambda: builder.icmp_signed("!=", builder.load(builder.load(place)), stack)):
        builder.store(_stack(builder, builder.load(builder.load(place))).place("next"), place)
    builder.store(_stack(builder, stack).load("next"), builder.load(place))
    _free(builder, stack)


def release_stacks(builder: ir.IRBuilder, state: ir.Value) -> None:
    """Emit the release of all stacks of the list."""
    head = _state(builder, state).place("stacks")
    with _while(builder, lambda: builder.icmp_signed("!=", builder.load(head), integer(0))):
        stack = builder.load(head)
        builder.store(_stack(builder, stack).load("next"), head)
        _free(builder, stack)


def take_stacks(builder: ir.IRBuilder, state: ir.Value, owner: ir.Value) -> None:
    """Emit the move of a run's stacks, whose list begins in the word at address `owner`, to an abort state."""
    _state(builder, state).store("stacks", builder.load(_word(builder, owner)))


def leave_stacks(builder: ir.IRBuilder, state: ir.Value, owner: ir.Value) -> None:
    """Emit the move of the stacks that an abort state still has back to the run."""
    builder.store(_state(builder, state).load("stacks"), _word(builder, owner))


def _word(builder: ir.IRBuilder, address: ir.Value) -> ir.Value:
    return builder.inttoptr(address, _I64.as_pointer())


def _free(builder: ir.IRBuilder, stack: ir.Value) -> None:
    free = external(builder.module, ir.FunctionType(_VOID, [BYTES]), "free")
    builder.call(free, [builder.inttoptr(_stack(builder, stack).load("memory"), BYTES)])


@contextmanager
def _while(builder: ir.IRBuilder, condition: Callable[[], ir.Value]) -> Iterator[None]:
    head, body, end = (builder.append_basic_block(f"while.{part}") for part in ("head", "body", "end"))
    builder.branch(head)
    builder.position_at_end(head)
    builder.cbranch(condition(), body, end)
    builder.position_at_end(body)
    yield
    builder.branch(head)
    builder.position_at_end(end)


# ---- the error -------------------------------------------------------------------------------------------------------


def raise_error(builder: ir.IRBuilder, state: ir.Value) -> None:
    """Emit the end of an aborted run: free its stacks and, with the GIL, set Python's error."""
    release_stacks(builder, state)
    outcome = _state(builder, state).load("outcome")
    with builder.if_then(builder.icmp_signed("==", outcome, integer(_NO_MEMORY))):
        builder.call(external(builder.module, ir.FunctionType(BYTES, []), "PyErr_NoMemory"), [])
    with builder.if_then(is_assertion_failed(builder, state)):
        # An item of the empty tuple raises an `IndexError` without a message; the interpreter finds the message.
        new = external(builder.module, ir.FunctionType(_I64, [_I64]), "PyTuple_New")
        item = external(builder.module, ir.FunctionType(_I64, [_I64, _I64]), "PyTuple_GetItem")
        builder.call(item, [builder.call(new, [integer(0)]), integer(0)])
