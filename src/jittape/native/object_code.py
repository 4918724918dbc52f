"""The writer of machine code that works on Python objects through CPython's C API."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from llvmlite import ir

from jittape.compile.llvm.driver import address_argument, object_argument
from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import external, for_range, integer, load_at
from jittape.compile.llvm.symbols import PYTHON_FUNCTIONS
from jittape.native.built_in import TABLE

__all__ = ["DOUBLE", "I32", "I64", "ObjectCode"]

I64, I32 = ir.IntType(64), ir.IntType(32)
DOUBLE = ir.DoubleType()
_EQ = 2
"""`Py_EQ` of CPython."""


class ObjectCode:
    """A writer of one function's body.

    An object is its address, an i64. Offsets in objects come from `object_layout` and `slot_places`.
    References are counted by hand: `get` and `known` give borrowed references, `call` gives what the C API function
    gives, and `put`, `init`, `fill` and `new_tuple` steal the references that they take.

    Parameters
    ----------
    function : ir.Function
        Function without a body.
    places : mapping of str to int
        Byte offsets in objects by name: the fields of `ObjectLayout` and the slots that the code reads.
    known : sequence of str
        Names of the objects in the process's table, in order.
    table : str
        Symbol of that table.
    holds_collector : bool
        Whether the code is called in the context `collector_held`; its calls of objects leave the context.
    """

    def __init__(
        self,
        function: ir.Function,
        places: Mapping[str, int],
        known: Sequence[str] = (),
        table: str = TABLE,
        holds_collector: bool = False,
    ) -> None:
        self.function = function
        self.places = places
        self.builder = Builder(function.append_basic_block("entry"))
        self._numbers = {name: i for i, name in enumerate(known)}
        self._table = table
        self._holds_collector = holds_collector

    # ---- arguments of a built-in function ----------------------------------------------------------------------

    def argument(self, position: int) -> ir.Value:
        """Return an argument, borrowed."""
        return self.builder.ptrtoint(object_argument(self.builder, self.function, position), I64)

    def address_argument(self, position: int) -> ir.Value:
        """Return an argument that is a Python int, as an i64."""
        return address_argument(self.builder, self.function, position)

    def return_object(self, value: ir.Value) -> None:
        """Return an object, or 0 if an error is set."""
        self.builder.ret(self.builder.inttoptr(value, self.function.function_type.return_type))

    # ---- memory ------------------------------------------------------------------------------------------------

    def load(self, address: ir.Value, offset: int | ir.Value = 0, kind: ir.Type | None = None) -> ir.Value:
        """Return the value at `offset` bytes behind an address, an i64 unless `kind` is given."""
        return load_at(self.builder, address, offset, kind)

    def store(self, value: ir.Value, address: ir.Value, offset: int = 0) -> None:
        """Store a value `offset` bytes behind an address."""
        at = self.builder.add(address, integer(offset))
        self.builder.store(value, self.builder.inttoptr(at, value.type.as_pointer()))

    def element(self, address: ir.Value, position: int | ir.Value, size: int = 8) -> ir.Value:
        """Return the address of an element of an array whose elements have `size` bytes."""
        at = integer(position) if isinstance(position, int) else position
        return self.builder.add(address, self.builder.mul(at, integer(size)))

    def words(self, count: int) -> ir.Value:
        """Allocate `count` words on the stack, once per call, and return their address."""
        with self.builder.goto_entry_block():
            return self.builder.ptrtoint(self.builder.alloca(I64, count), I64)

    def read(self, address: ir.Value, position: int | ir.Value = 0) -> ir.Value:
        """Return a word of an array."""
        return self.load(self.element(address, position))

    def write(self, address: ir.Value, value: ir.Value, position: int | ir.Value = 0) -> None:
        """Store a word in an array."""
        self.store(value, self.element(address, position))

    # ---- objects -----------------------------------------------------------------------------------------------

    def known(self, name: str) -> ir.Value:
        """Return an object of the process's table, borrowed."""
        return self.builder.load(self._place_in_table(name))

    def _place_in_table(self, name: str) -> ir.Value:
        module = self.function.module
        kind = ir.ArrayType(I64, len(self._numbers))
        table = module.globals.get(self._table) or ir.GlobalVariable(module, kind, self._table)
        return self.builder.gep(table, [ir.Constant(I32, number) for number in (0, self._numbers[name])])

    def get(self, owner: ir.Value, slot: str, empty: ir.Block) -> ir.Value:
        """Return the object in a slot, borrowed; branch to `empty` if the slot is empty.

        Any slot may be empty: ``object.__new__`` fills none, and `del` empties one.
        """
        found = self.get_unchecked(owner, slot)
        self.require(self.differ(found, integer(0)), empty)
        return found

    def get_unchecked(self, owner: ir.Value, slot: str, kind: ir.Type | None = None) -> ir.Value:
        """Return the value at a named offset, an i64 unless `kind` is given; 0 if it is an empty slot."""
        return self.load(owner, self.places[slot], kind)

    def put(self, owner: ir.Value, slot: str, value: ir.Value) -> None:
        """Assign to a slot and release its old value."""
        before = self.get_unchecked(owner, slot)
        self.init(owner, slot, value)
        self.decref(before)

    def init(self, owner: ir.Value, slot: str, value: ir.Value) -> None:
        """Assign to an empty slot, or to one whose old value the caller releases."""
        self.store(value, owner, self.places[slot])

    def type_of(self, value: ir.Value) -> ir.Value:
        return self.get_unchecked(value, "type")

    def is_a(self, value: ir.Value, kind: str) -> ir.Value:
        """Return whether the type of `value` is a known type itself; instances of subclasses are not."""
        return self.same(self.type_of(value), self.known(kind))

    def incref(self, value: ir.Value) -> ir.Value:
        """Incref and return `value`."""
        self.call("Py_IncRef", value)
        return value

    def decref(self, value: ir.Value) -> None:
        """Decref `value`; 0 is ignored."""
        self.call("Py_DecRef", value)

    # ---- tuples ------------------------------------------------------------------------------------------------

    def length_of(self, values: ir.Value) -> ir.Value:
        """Return the number of items of a tuple."""
        return self.get_unchecked(values, "tuple_length")

    def item(self, values: ir.Value, position: int | ir.Value) -> ir.Value:
        """Return an item of a tuple, borrowed."""
        return self.load(self.element(values, position), self.places["items"])

    def fill(self, values: ir.Value, position: int | ir.Value, value: ir.Value) -> None:
        """Set an item of a new tuple."""
        self.store(value, self.element(values, position), self.places["items"])

    def new_tuple(self, failed: ir.Block, *values: ir.Value) -> ir.Value:
        """Return a new tuple; branch to `failed` if there is no memory."""
        made = self.attempt(failed, "PyTuple_New", integer(len(values)))
        for position, value in enumerate(values):
            self.fill(made, position, value)
        return made

    # ---- calls -------------------------------------------------------------------------------------------------

    def call(self, name: str, *arguments: ir.Value) -> ir.Value:
        """Call a function of the C API."""
        bits = PYTHON_FUNCTIONS[name]
        result = ir.IntType(bits) if bits else ir.VoidType()
        kind = ir.FunctionType(result, [I64] * len(arguments))
        return self.builder.call(external(self.function.module, kind, name), arguments)

    def attempt(self, failed: ir.Block, name: str, *arguments: ir.Value) -> ir.Value:
        """Call a function of the C API and branch to `failed` if it raises.

        A function that returns an object raises if it returns 0, one that returns a status if it returns another
        number.
        """
        result = self.call(name, *arguments)
        none = ir.Constant(result.type, 0)
        self.require((self.differ if PYTHON_FUNCTIONS[name] == 64 else self.same)(result, none), failed)
        return result

    def call_object(
        self, function: ir.Value, arguments: ir.Value, count: ir.Value, names: ir.Value | None = None
    ) -> ir.Value:
        """Call a Python object with `count` arguments at an address, followed by the keyword arguments `names`."""
        with self.collector_released():
            return self.call("PyObject_Vectorcall", function, arguments, count, names or integer(0))

    def call_shared(self, name: str, write: Callable[[ir.Function], None], *arguments: ir.Value) -> ir.Value:
        """Call an internal function on words, which `write` emits once per module."""
        module = self.function.module
        function = module.globals.get(name)
        if function is None:
            function = ir.Function(module, ir.FunctionType(I64, [I64] * len(arguments)), name)
            function.linkage = "internal"
            write(function)
        return self.builder.call(function, arguments)

    def size(self, value: ir.Value) -> ir.Value:
        """Return a nonnegative Python int as an i64, the largest i64 if it does not fit."""
        found = self.call("PyLong_AsSsize_t", value)
        fits = self.builder.icmp_signed(">=", found, integer(0))
        with self.builder.if_then(self.builder.not_(fits), likely=False):
            self.call("PyErr_Clear")
        return self.builder.select(fits, found, integer(2**63 - 1))

    def index(self, value: ir.Value, otherwise: ir.Block) -> ir.Value:
        """Return a Python int as an i64; branch to `otherwise`, with an error set, if it does not fit."""
        found = self.call("PyLong_AsSsize_t", value)
        unsure = self.same(found, integer(-1))
        with self.builder.if_then(unsure, likely=False):
            self.require(self.same(self.call("PyErr_Occurred"), integer(0)), otherwise)
        return found

    # ---- the garbage collector ---------------------------------------------------------------------------------

    @contextmanager
    def collector_held(self) -> Iterator[None]:
        """Return a context in which the garbage collector does not run: its finalizers might record between two steps.

        Up to Python 3.11, any allocation may start it; later it starts between the instructions of Python code. The
        process's table says whether it was enabled, as only one thread at a time runs such code.
        """
        outside = self.known("collector")
        self._hold_collector()
        yield
        self._release_collector()
        self.builder.store(outside, self._place_in_table("collector"))

    @contextmanager
    def collector_released(self) -> Iterator[None]:
        """Return a context for code that runs Python, or for long."""
        if self._holds_collector:
            self._release_collector()
        yield
        if self._holds_collector:
            self._hold_collector()

    def _hold_collector(self) -> None:
        was_enabled = self.builder.zext(self.call("PyGC_Disable"), I64)
        self.builder.store(was_enabled, self._place_in_table("collector"))

    def _release_collector(self) -> None:
        with self.builder.if_then(self.differ(self.known("collector"), integer(0)), likely=True):
            self.call("PyGC_Enable")

    # ---- control -----------------------------------------------------------------------------------------------

    def block(self, name: str) -> ir.Block:
        """Append a basic block."""
        block: ir.Block = self.builder.append_basic_block(name)
        return block

    def begin(self, block: ir.Block) -> None:
        """Continue writing at the end of a block."""
        self.builder.position_at_end(block)

    def return_nothing(self, block: ir.Block) -> None:
        """Write a block that forgets an error and returns 0: Python does the work instead."""
        self.begin(block)
        self.call("PyErr_Clear")
        self.builder.ret(integer(0))

    def same(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.icmp_signed("==", a, b)

    def differ(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.icmp_signed("!=", a, b)

    def equal(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Return whether two objects are one or equal; if the comparison raises, they are not."""
        found = self.words(1)
        self.write(found, integer(1))
        with self.builder.if_then(self.differ(a, b), likely=False):
            answer = self.call("PyObject_RichCompareBool", a, b, integer(_EQ))
            self.write(found, self.builder.zext(self.same(answer, ir.Constant(answer.type, 1)), I64))
            self.call("PyErr_Clear")
        return self.differ(self.read(found), integer(0))

    def require(self, condition: ir.Value, otherwise: ir.Block) -> None:
        """Branch to `otherwise`, the unlikely case, unless `condition` holds."""
        on = self.block("on")
        branch = self.builder.cbranch(condition, on, otherwise)
        branch.set_weights([99, 1])
        self.begin(on)

    def require_same(self, otherwise: ir.Block, *pairs: tuple[ir.Value, ir.Value]) -> None:
        """Branch to `otherwise` unless the values of each pair are equal."""
        for a, b in pairs:
            self.require(self.same(a, b), otherwise)

    @contextmanager
    def each(self, count: ir.Value) -> Iterator[ir.Value]:
        """Emit a loop; yield the index."""
        with for_range(self.builder, count, scalar=True) as index:
            yield index

    @contextmanager
    def each_item(self, values: ir.Value) -> Iterator[tuple[ir.Value, ir.Value]]:
        """Emit a loop over a list; yield the index and the item, borrowed."""
        with self.each(self.call("PyList_Size", values)) as index:
            yield index, self.call("PyList_GetItem", values, index)

    @contextmanager
    def each_value(self, values: ir.Value) -> Iterator[ir.Value]:
        """Emit a loop over a dictionary that the body leaves unchanged; yield the value, borrowed."""
        with self.each_pair(values) as (_, value):
            yield value

    @contextmanager
    def each_pair(self, values: ir.Value) -> Iterator[tuple[ir.Value, ir.Value]]:
        """Emit a loop over a dictionary that the body leaves unchanged; yield key and value, borrowed."""
        place, found = self.words(1), self.words(2)
        self.write(place, integer(0))
        head, body, after = (self.block(f"values.{part}") for part in ("head", "body", "end"))
        self.builder.branch(head)
        self.begin(head)
        value = self.builder.add(found, integer(8))
        more = self.call("PyDict_Next", values, place, found, value)
        self.builder.cbranch(self.differ(more, ir.Constant(more.type, 0)), body, after)
        self.begin(body)
        yield self.read(found), self.read(value)
        self.builder.branch(head)
        self.begin(after)
