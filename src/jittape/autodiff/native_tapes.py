"""The methods of tapes in machine code."""

from __future__ import annotations

from functools import cache

from jittape.autodiff.tape import GradientTape
from jittape.autodiff.tape_interval import TapeInterval
from jittape.compile.llvm.built_in_functions import BY_NAMES, NO_ARGUMENT, ONE_ARGUMENT
from jittape.core.dtypes import float32
from jittape.core.tickets import Ticket, TicketQueue
from jittape.native.switch import MachineCode
from jittape.recording.machine_code.method_module import Method, MethodModule
from jittape.recording.native_methods import METHODS as METHODS_OF_RECORDING
from jittape.recording.native_methods import machine_code as code_of_recording
from jittape.recording.slots import NOTHING_READ

__all__ = ["machine_code"]

_INTERVAL_SLOTS = tuple([slot for slot in TapeInterval.__slots__ if slot != "__weakref__"])
METHODS = MethodModule(
    "jittape.autodiff.machine_code",
    "jittape_tape_objects",
    (
        Method(GradientTape, "__enter__", NO_ARGUMENT, "emit_tapes.define_enter"),
        Method(GradientTape, "__exit__", BY_NAMES, "emit_tapes.define_exit"),
        Method(GradientTape, "watch", ONE_ARGUMENT, "emit_tapes.define_watch"),
        Method(GradientTape, "gradient", BY_NAMES, "emit_tapes.define_gradient"),
        Method(TapeInterval, "known_gradient", BY_NAMES, "emit_tapes.define_known_gradient"),
    ),
    (),
    (
        *METHODS_OF_RECORDING.slots,
        ("GradientTape.", GradientTape, ("_interval", "_persistent", "_used_up")),
        ("Ticket.", Ticket, ("content",)),
        ("TicketQueue.", TicketQueue, ("held",)),
        ("TapeInterval.", TapeInterval, _INTERVAL_SLOTS),
    ),
    {
        **METHODS_OF_RECORDING.known,
        "NOTHING_READ": NOTHING_READ,
        "TapeInterval": TapeInterval,
        "Ticket": Ticket,
        "append": "append",
        "dtype float32": float32,
    },
)


@cache
def machine_code() -> MachineCode:
    """Return the methods; none if the layout of objects is unknown.

    Raises
    ------
    CompileError
        If LLVM cannot compile them.
    """
    compiled = METHODS.compiled() if code_of_recording().methods else None
    return MachineCode() if compiled is None else MachineCode(compiled[0])
