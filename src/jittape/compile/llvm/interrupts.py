"""What may end a run before its time: Ctrl-C in a loop, a stack that finds no memory to grow, an index out of range.

A run has its *watch*, a few words on the stack of whoever runs a table: whether it is over, when a loop looks at the
clock again, the stacks that loops have made grow, and the address of what looks, so that loops in a user's own `@njit`
code need nothing by name. A run with NumPy steps walks several tables, each with a watch of its own. A stack may be
grown under one table and freed under a later one, so the list of stacks is handed from watch to watch through a word
that the run owns. What runs loops and branches is given its watch's address in the place of a task. Once the run is
over, no step is begun any more, and what it has written is lost.

Ctrl-C becomes an exception where Python looks for it, which a loop without the GIL must ask for. It counts iterations,
as many as are few in a second but 4096 at most; when the second by the clock is another one, it takes the GIL and lets
Python look. The clock costs 4 ns, and Python is asked once a second, since with other threads at work the GIL may take
5 ms to come. Only the main thread is ever interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum

from llvmlite import ir

from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import BYTES, alloca_once, external, integer
from jittape.core.tuning import tuning

__all__ = [
    "Watch",
    "is_over",
    "leave_stacks",
    "look_up",
    "new_watch",
    "note_stack",
    "out_of_memory",
    "raise_error",
    "refuse",
    "refused",
    "release_stack",
    "release_stacks",
    "take_stacks",
]

_I64, _I32, _VOID = ir.IntType(64), ir.IntType(32), ir.VoidType()
_LOOK = ir.FunctionType(_VOID, [_I64])
_NEVER = 2**62


class Watch(IntEnum):
    """Positions of the words."""

    OUTCOME = 0
    LEFT = 1
    INTERVAL = 2
    SECOND = 3
    STACKS = 4
    LOOK = 5


_INTERRUPTED, _NO_MEMORY, _REFUSED = 1, 2, 3
_RECORD = 2
"""The word of a stack's record with the address of the next one; before it the stack's address and capacity."""


def new_watch(builder: ir.IRBuilder, interrupted: bool = True) -> ir.Value:
    """The address of a watch for the run that begins here; one that is not to be `interrupted` never asks Python."""
    watch = alloca_once(builder, ir.ArrayType(_I64, len(Watch)))
    address = builder.ptrtoint(watch, _I64)
    for word in Watch:
        builder.store(integer(0), _word(builder, address, word))
    if interrupted:
        look = builder.ptrtoint(_looking(builder.module), _I64)
        builder.store(look, _word(builder, address, Watch.LOOK))
    else:
        builder.store(integer(_NEVER), _word(builder, address, Watch.LEFT))
    return address


def _word(builder: ir.IRBuilder, watch: ir.Value, word: int) -> ir.Value:
    return builder.inttoptr(builder.add(watch, integer(8 * word)), _I64.as_pointer())


def is_over(builder: ir.IRBuilder, watch: ir.Value) -> ir.Value:
    """Whether the run is to end."""
    return builder.icmp_signed("!=", builder.load(_word(builder, watch, Watch.OUTCOME)), integer(0))


def refuse(builder: ir.IRBuilder, watch: ir.Value) -> None:
    """Write that the run is over as what the program says cannot be done."""
    _end(builder, watch, _REFUSED)


def refused(builder: ir.IRBuilder, watch: ir.Value) -> ir.Value:
    """Whether that is why the run is over."""
    return builder.icmp_signed("==", builder.load(_word(builder, watch, Watch.OUTCOME)), integer(_REFUSED))


# ---- Ctrl-C ----------------------------------------------------------------------------------------------------------


def look_up(builder: ir.IRBuilder, watch: ir.Value, end: ir.Block) -> None:
    """Write what an iteration begins with: now and then it looks at the clock, and goes to `end` if the run is over."""
    place = _word(builder, watch, Watch.LEFT)
    left = builder.sub(builder.load(place), integer(1))
    builder.store(left, place)
    rarely, on = (builder.append_basic_block(name) for name in ("rarely", "on"))
    branch = builder.cbranch(builder.icmp_signed("<", left, integer(0)), rarely, on)
    branch.set_weights([1, 99])
    builder.position_at_end(rarely)
    look = builder.load(_word(builder, watch, Watch.LOOK))
    with builder.if_then(builder.icmp_signed("!=", look, integer(0))):
        builder.call(builder.inttoptr(look, _LOOK.as_pointer()), [watch])
    builder.cbranch(is_over(builder, watch), end, on)
    builder.position_at_end(on)


def _end(builder: ir.IRBuilder, watch: ir.Value, outcome: int) -> None:
    """Write that the run is over; every loop looks up then."""
    builder.store(integer(outcome), _word(builder, watch, Watch.OUTCOME))
    builder.store(integer(0), _word(builder, watch, Watch.LEFT))


def _looking(module: ir.Module) -> ir.Function:
    """The function that looks at the clock, and asks Python if it is time."""
    known = module.globals.get("jittape_look")
    if known is not None:
        return known
    function = ir.Function(module, _LOOK, "jittape_look")
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = Builder(function.append_basic_block("entry"))
    (watch,) = function.args
    with builder.if_then(is_over(builder, watch)):
        builder.store(integer(0), _word(builder, watch, Watch.LEFT))
        builder.ret_void()
    clock = external(module, ir.FunctionType(_I64, [BYTES]), "jittape_seconds")
    second = builder.call(clock, [ir.Constant(BYTES, None)])
    interval, before = (builder.load(_word(builder, watch, word)) for word in (Watch.INTERVAL, Watch.SECOND))
    passed = builder.icmp_signed("!=", second, before)
    longer = builder.add(builder.shl(interval, integer(1)), integer(1))
    most = integer(tuning.interrupt_check_iterations)
    longer = builder.select(builder.icmp_signed("<", longer, most), longer, most)
    interval = builder.select(passed, builder.lshr(interval, integer(3)), longer)
    builder.store(interval, _word(builder, watch, Watch.INTERVAL))
    builder.store(interval, _word(builder, watch, Watch.LEFT))
    builder.store(second, _word(builder, watch, Watch.SECOND))
    first = builder.icmp_signed("==", before, integer(0))
    with builder.if_then(builder.and_(passed, builder.not_(first)), likely=False):
        take = external(module, ir.FunctionType(_I32, []), "PyGILState_Ensure")
        give = external(module, ir.FunctionType(_VOID, [_I32]), "PyGILState_Release")
        check = external(module, ir.FunctionType(_I32, []), "PyErr_CheckSignals")
        state = builder.call(take, [])
        raised = builder.icmp_signed("!=", builder.call(check, []), ir.Constant(_I32, 0))
        builder.call(give, [state])
        with builder.if_then(raised):
            _end(builder, watch, _INTERRUPTED)
    builder.ret_void()
    return function


# ---- stacks that grow ------------------------------------------------------------------------------------------------


def out_of_memory(builder: ir.IRBuilder, watch: ir.Value) -> None:
    """Write that the run is over for want of memory."""
    _end(builder, watch, _NO_MEMORY)


def note_stack(builder: ir.IRBuilder, watch: ir.Value, record: ir.Value) -> None:
    """Write that there is another grown stack; `record` is the address of where it is described."""
    head = _word(builder, watch, Watch.STACKS)
    builder.store(builder.load(head), _word(builder, record, _RECORD))
    builder.store(record, head)


def release_stack(builder: ir.IRBuilder, watch: ir.Value, record: ir.Value) -> None:
    """Write that a stack is not needed any more."""
    place = builder.alloca(_I64.as_pointer())
    builder.store(_word(builder, watch, Watch.STACKS), place)
    with _while(builder, lambda: builder.icmp_signed("!=", builder.load(builder.load(place)), record)):
        builder.store(_word(builder, builder.load(builder.load(place)), _RECORD), place)
    builder.store(builder.load(_word(builder, record, _RECORD)), builder.load(place))
    _free(builder, record)


def release_stacks(builder: ir.IRBuilder, watch: ir.Value) -> None:
    """Write that no stack is needed any more."""
    head = _word(builder, watch, Watch.STACKS)
    with _while(builder, lambda: builder.icmp_signed("!=", builder.load(head), integer(0))):
        record = builder.load(head)
        builder.store(builder.load(_word(builder, record, _RECORD)), head)
        _free(builder, record)


def take_stacks(builder: ir.IRBuilder, watch: ir.Value, owner: ir.Value) -> None:
    """Emit the move of the stacks of a run, whose list begins in the word `owner`, to a watch."""
    builder.store(builder.load(_word(builder, owner, 0)), _word(builder, watch, Watch.STACKS))


def leave_stacks(builder: ir.IRBuilder, watch: ir.Value, owner: ir.Value) -> None:
    """Emit the move of the stacks that a watch still has to the run."""
    builder.store(builder.load(_word(builder, watch, Watch.STACKS)), _word(builder, owner, 0))


def _free(builder: ir.IRBuilder, record: ir.Value) -> None:
    free = external(builder.module, ir.FunctionType(_VOID, [BYTES]), "free")
    builder.call(free, [builder.inttoptr(builder.load(_word(builder, record, 0)), BYTES)])


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


# ---- the end ---------------------------------------------------------------------------------------------------------


def raise_error(builder: ir.IRBuilder, watch: ir.Value) -> None:
    """Write the end of a run that is over before its time: with the GIL, Python's error is set after it."""
    release_stacks(builder, watch)
    outcome = builder.load(_word(builder, watch, Watch.OUTCOME))
    with builder.if_then(builder.icmp_signed("==", outcome, integer(_NO_MEMORY))):
        builder.call(external(builder.module, ir.FunctionType(BYTES, []), "PyErr_NoMemory"), [])
    with builder.if_then(refused(builder, watch)):
        # An `IndexError` that says nothing, of an item of the empty tuple: the interpreter finds one that does.
        new = external(builder.module, ir.FunctionType(_I64, [_I64]), "PyTuple_New")
        item = external(builder.module, ir.FunctionType(_I64, [_I64, _I64]), "PyTuple_GetItem")
        builder.call(item, [builder.call(new, [integer(0)]), integer(0)])
