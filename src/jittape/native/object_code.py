"""Machine code that works on Python objects, by the functions of CPython's C API: see `ObjectCode`.

An object is its address, an i64. Slots of ``__slots__`` are read and written in place; where they stand is found out by
who asks for the code (`runtime.objects`). What the code needs to know of a process, types and functions, it reads from
a table of the process, which goes by the name `TABLE`: so there is no address in code on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from llvmlite import ir

from jittape.compile.llvm.ir_builder import Builder
from jittape.compile.llvm.ir_helpers import external, for_range, integer, load_at
from jittape.compile.llvm.symbols import PYTHON_FUNCTIONS

__all__ = ["TABLE", "ObjectCode"]

I64 = ir.IntType(64)

TABLE = "jittape_objects"


class ObjectCode:
    """Writes the body of a function of addresses.

    References are counted by hand: what `get` and `known` give is borrowed, what `call` gives is as the C API says, and
    `put`, `fill` and `new_tuple` take over the references that they are given.

    Parameters
    ----------
    function : ir.Function
        Without a body.
    places : mapping of str to int
        The bytes at which things stand, from the beginning of their objects; ``"type"``, ``"items"`` and ``"length"``
        (of a tuple or list) besides what `get` is asked for.
    known : sequence of str
        The names of what is in the table, in its order.
    """

    def __init__(self, function: ir.Function, places: Mapping[str, int], known: Sequence[str]) -> None:
        self.function = function
        for attribute in ("optsize", "noinline", "nounwind"):
            function.attributes.add(attribute)
        self.places = places
        self.builder = Builder(function.append_basic_block("entry"))
        self._numbers = {name: i for i, name in enumerate(known)}

    # ---- objects -----------------------------------------------------------------------------------------------

    def known(self, name: str) -> ir.Value:
        """An object of the process."""
        module = self.function.module
        kind = ir.ArrayType(I64, len(self._numbers))
        table = module.globals.get(TABLE) or ir.GlobalVariable(module, kind, TABLE)
        where = [ir.Constant(ir.IntType(32), number) for number in (0, self._numbers[name])]
        return self.builder.load(self.builder.gep(table, where))

    def get(self, owner: ir.Value, slot: str, empty: ir.Block) -> ir.Value:
        """The object in a slot; on to `empty` if there is none.

        A slot of any object may be empty: ``object.__new__`` fills none, and `del` empties one.
        """
        found = self.get_unchecked(owner, slot)
        self.require(self.differ(found, integer(0)), empty)
        return found

    def get_unchecked(self, owner: ir.Value, slot: str) -> ir.Value:
        """The word at a place; 0 if a slot is there that is empty."""
        return load_at(self.builder, owner, self.places[slot])

    def put(self, owner: ir.Value, slot: str, value: ir.Value) -> None:
        """Let a slot hold `value` from now on."""
        before = self.get_unchecked(owner, slot)
        self._store(value, self.builder.add(owner, integer(self.places[slot])))
        self.call("Py_DecRef", before)

    def start(self, owner: ir.Value, slot: str, value: ir.Value) -> None:
        """As `put`, in a new object, whose slots are empty."""
        self._store(value, self.builder.add(owner, integer(self.places[slot])))

    def type_of(self, value: ir.Value) -> ir.Value:
        return self.get_unchecked(value, "type")

    def length_of(self, values: ir.Value) -> ir.Value:
        """The number of items of a tuple."""
        return self.get_unchecked(values, "length")

    def is_a(self, value: ir.Value, kind: str) -> ir.Value:
        """Whether `value` is of a known type, and of no other that is derived from it."""
        return self.same(self.type_of(value), self.known(kind))

    def own(self, value: ir.Value) -> ir.Value:
        """`value` with a reference of one's own."""
        self.call("Py_IncRef", value)
        return value

    def drop(self, value: ir.Value) -> None:
        """Give a reference up; 0 has none."""
        self.call("Py_DecRef", value)

    def item(self, values: ir.Value, position: int | ir.Value) -> ir.Value:
        """What stands at a position of a tuple."""
        return load_at(self.builder, self._item(values, position), 0)

    def fill(self, values: ir.Value, position: int | ir.Value, value: ir.Value) -> None:
        """Write to a position of a new tuple."""
        self._store(value, self._item(values, position))

    def new_tuple(self, failed: ir.Block, *values: ir.Value) -> ir.Value:
        """A new tuple; on to `failed` if there is no memory."""
        made = self.call("PyTuple_New", integer(len(values)))
        self.require(self.differ(made, integer(0)), failed)
        for position, value in enumerate(values):
            self.fill(made, position, value)
        return made

    def number(self, value: ir.Value) -> ir.Value:
        """The value of a Python int that is not negative; of one that has no room in an i64 the largest."""
        found = self.call("PyLong_AsSsize_t", value)
        fits = self.builder.icmp_signed(">=", found, integer(0))
        with self.builder.if_then(self.builder.not_(fits), likely=False):
            self.call("PyErr_Clear")
        return self.builder.select(fits, found, integer(2**63 - 1))

    # ---- calls -------------------------------------------------------------------------------------------------

    def call(self, name: str, *arguments: ir.Value) -> ir.Value:
        """Call a function of the C API."""
        bits = PYTHON_FUNCTIONS[name]
        result = ir.IntType(bits) if bits else ir.VoidType()
        kind = ir.FunctionType(result, [I64] * len(arguments))
        return self.builder.call(external(self.function.module, kind, name), arguments)

    def attempt(self, failed: ir.Block, name: str, *arguments: ir.Value) -> ir.Value:
        """As `call`; on to `failed` if it raises, as 0 tells for an object, another number for none."""
        result = self.call(name, *arguments)
        none = ir.Constant(result.type, 0)
        self.require((self.differ if PYTHON_FUNCTIONS[name] == 64 else self.same)(result, none), failed)
        return result

    def call_object(
        self, function: ir.Value, arguments: ir.Value, count: ir.Value, names: ir.Value | None = None
    ) -> ir.Value:
        """Call a Python function with `count` arguments from an address on, and those by name that `names` has."""
        return self.call("PyObject_Vectorcall", function, arguments, count, names or integer(0))

    def call_own(self, name: str, write: Callable[[ir.Function], None], *arguments: ir.Value) -> ir.Value:
        """Call a function of addresses that is written into this module by who needs it first."""
        module = self.function.module
        function = module.globals.get(name)
        if function is None:
            function = ir.Function(module, ir.FunctionType(I64, [I64] * len(arguments)), name)
            function.linkage = "internal"
            write(function)
        return self.builder.call(function, arguments)

    # ---- control -----------------------------------------------------------------------------------------------

    def block(self, name: str) -> ir.Block:
        block: ir.Block = self.builder.append_basic_block(name)
        return block

    def same(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.icmp_signed("==", a, b)

    def differ(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.builder.icmp_signed("!=", a, b)

    def require(self, condition: ir.Value, otherwise: ir.Block) -> None:
        """Go on only if `condition` holds, as it mostly does."""
        on = self.block("on")
        branch = self.builder.cbranch(condition, on, otherwise)
        branch.set_weights([99, 1])
        self.builder.position_at_end(on)

    def require_same(self, otherwise: ir.Block, *pairs: tuple[ir.Value, ir.Value]) -> None:
        for a, b in pairs:
            self.require(self.same(a, b), otherwise)

    @contextmanager
    def each(self, count: ir.Value) -> Iterator[ir.Value]:
        """A loop; the value is the index."""
        with for_range(self.builder, count, scalar=True) as index:
            yield index

    def begin(self, block: ir.Block) -> None:
        """Write there from now on."""
        self.builder.position_at_end(block)

    @contextmanager
    def each_item(self, values: ir.Value) -> Iterator[tuple[ir.Value, ir.Value]]:
        """A loop over a list; the values are the index and the item, borrowed."""
        with self.each(self.call("PyList_Size", values)) as index:
            yield index, self.call("PyList_GetItem", values, index)

    @contextmanager
    def each_value(self, values: ir.Value) -> Iterator[ir.Value]:
        """A loop over a dictionary that nobody changes; the value is one of its values, borrowed."""
        place, found = self.words(1), self.words(2)
        self.write(place, integer(0))
        head, body, after = (self.block(f"values.{part}") for part in ("head", "body", "end"))
        self.builder.branch(head)
        self.begin(head)
        value = self.builder.add(found, integer(8))
        more = self.call("PyDict_Next", values, place, found, value)
        self.builder.cbranch(self.differ(more, ir.Constant(more.type, 0)), body, after)
        self.begin(body)
        yield self.read(value)
        self.builder.branch(head)
        self.begin(after)

    # ---- memory of its own -------------------------------------------------------------------------------------

    def words(self, count: int) -> ir.Value:
        """The address of `count` words of memory that live as long as the call."""
        with self.builder.goto_entry_block():
            return self.builder.ptrtoint(self.builder.alloca(I64, count), I64)

    def read(self, address: ir.Value, position: int | ir.Value = 0) -> ir.Value:
        """The word at a position of such memory."""
        return load_at(self.builder, self._word(address, position), 0)

    def write(self, address: ir.Value, value: ir.Value, position: int | ir.Value = 0) -> None:
        self._store(value, self._word(address, position))

    def _word(self, address: ir.Value, position: int | ir.Value) -> ir.Value:
        at = integer(position) if isinstance(position, int) else position
        return self.builder.add(address, self.builder.mul(at, integer(8)))

    def _item(self, values: ir.Value, position: int | ir.Value) -> ir.Value:
        return self._word(self.builder.add(values, integer(self.places["items"])), position)

    def _store(self, value: ir.Value, address: ir.Value) -> None:
        self.builder.store(value, self.builder.inttoptr(address, I64.as_pointer()))
