"""Machine code of `Trace.apply` on a known path of the trie.

The code handles the common case: operands that are Tensors, Variables, small arrays and numbers, and an edge that is in
the trie. It checks everything before it changes anything, except that assigned Variables have been read. In all other
cases it returns 0 and the caller runs the Python method from the start, so the Python code defines what recording
means. `emit_methods` has the callers, `native_methods` the objects that the code refers to.
"""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import ObjectCode
from jittape.recording.machine_code.emit_array_copies import copied
from jittape.recording.machine_code.emit_lists import array_for_operator
from jittape.recording.machine_code.emit_operands import New, each_result, pending_tensor
from jittape.recording.machine_code.emit_root import placed_node
from jittape.recording.machine_code.emit_variables import read_assigned

__all__ = ["OPERANDS", "record"]

OPERANDS = 32
"""Maximum number of operands; Python records calls with more.

The step of an optimizer has several for each Variable: with 8, a step of Adam on two layers took 34 us, with 32 it
takes 25. Small calls take the same time.
"""
SCALARS = ("float", "int", "bool", "complex")


def record(new: New, code: ObjectCode, *arguments: ir.Value) -> ir.Value:
    """Emit a call of the recorder: see `_Recorder`."""
    return code.call_shared("jittape_record", lambda function: _Recorder(new, function).emit(), *arguments)


class _Recorder:
    """The writer of ``record(trace, body, operands, count, static, aval)``, which returns a pending Tensor or a tuple.

    `record` returns 0 without an error, and has changed nothing, if Python has to record the call. `aval` is the
    required aval of the only result, or 0.
    """

    def __init__(self, new: New, function: ir.Function) -> None:
        self.new = new
        self.code = code = new(function)
        self.trace, self.body, self.operands, self.count, self.static, self.aval = code.function.args
        self.refused = code.block("refused")
        self.failed = code.block("failed")
        # References to the values to import, to their keys in the trace's dictionaries, and to the scalars.
        self.fresh, self.numbers, self.scalars = (code.words(OPERANDS) for _ in range(3))
        # The operands' parts of the key, with references.
        self.parts = code.words(OPERANDS)
        self.n_fresh, self.n_scalars, self.n_parts = (code.words(1) for _ in range(3))
        for memory in (self.n_fresh, self.n_scalars, self.n_parts):
            code.write(memory, integer(0))

    def emit(self) -> None:
        code, builder = self.code, self.code.builder
        too_many = code.block("too_many")
        code.require(builder.icmp_signed("<=", self.count, integer(OPERANDS)), too_many)
        read_assigned(self.new, code, self.trace, self.operands, self.count, too_many)
        node = placed_node(code, self.trace, too_many)
        with code.each(self.count) as position:
            self._append(self.parts, self.n_parts, self._part(code.read(self.operands, position), node))
        child = self._child(node)
        self._import_inputs(child)
        code.put(self.trace, "Trace.node", code.incref(child))
        made = self._results(child)
        code.decref(child)
        with code.each(self.count) as position:
            code.decref(code.read(self.parts, position))
        self._run_if_many(made)
        builder.ret(made)

        code.begin(self.refused)
        for values, count in (
            (self.parts, self.n_parts),
            (self.fresh, self.n_fresh),
            (self.numbers, self.n_fresh),
            (self.scalars, self.n_scalars),
        ):
            with code.each(code.read(count)) as position:
                code.decref(code.read(values, position))
        builder.branch(too_many)
        code.return_nothing(too_many)
        code.begin(self.failed)
        builder.ret(integer(0))

    def _part(self, operand: ir.Value, node: ir.Value) -> ir.Value:
        """Return the part of the key of a child of `node` for an operand, with a new reference."""
        code, builder = self.code, self.code.builder
        value, number, other, here, outside, after = (
            code.block(name) for name in ("value", "number", "other", "here", "outside", "after")
        )
        part = code.words(1)
        kind = code.type_of(operand)
        is_value = builder.or_(code.is_a(operand, "Tensor"), code.is_a(operand, "Variable"))
        code.require(is_value, number)
        builder.branch(value)

        code.begin(number)
        is_number = ir.Constant(ir.IntType(1), 0)
        for name in SCALARS:
            is_number = builder.or_(is_number, code.same(kind, code.known(name)))
        code.require(is_number, other)
        code.write(part, code.incref(kind))
        self._append(self.scalars, self.n_scalars, code.incref(operand))
        builder.branch(after)

        code.begin(other)
        code.write(part, self._part_of_numpy(operand))
        builder.branch(after)

        code.begin(value)
        slot, trace = (code.get(operand, place, self.refused) for place in ("_slot", "_trace"))
        is_here = builder.and_(code.same(trace, self.trace), code.differ(slot, code.known("minus one")))
        builder.cbranch(is_here, here, outside)
        code.begin(here)
        code.write(part, code.incref(slot))
        builder.branch(after)
        code.begin(outside)
        code.write(part, self._part_of_outside(operand, node))
        builder.branch(after)

        code.begin(after)
        return code.read(part)

    def _part_of_numpy(self, operand: ir.Value) -> ir.Value:
        """Return the part of the key for an ndarray, which becomes a Buffer, or for a scalar of NumPy's."""
        code, builder = self.code, self.code.builder
        scalar, array, after, part = (
            *(code.block(n) for n in ("scalar", "array", "numpy.end")),
            code.words(1),
        )
        values = array_for_operator(self.new, code, operand, self.operands, self.count)
        builder.cbranch(code.is_a(values, "ndarray"), array, scalar)
        code.begin(scalar)
        code.decref(values)
        known = code.attempt(
            self.refused, "PyDict_GetItemWithError", code.known("NUMPY_SCALARS"), code.type_of(operand)
        )
        number, kind = code.words(1), code.item(known, 1)
        code.write(number, operand)
        with builder.if_else(code.same(kind, code.known("float"))) as (is_float, is_other):
            with is_float:
                code.write(number, code.call("PyNumber_Float", operand))
            with is_other, builder.if_else(code.same(kind, code.known("int"))) as (is_int, is_other):
                with is_int:
                    code.write(number, code.call("PyNumber_Index", operand))
                with is_other:
                    code.write(number, code.call_object(code.known("np.generic.item"), number, integer(1)))
        code.require(code.differ(code.read(number), integer(0)), self.refused)
        self._append(self.scalars, self.n_scalars, code.read(number))
        code.write(part, code.incref(code.item(known, 0)))
        builder.branch(after)

        code.begin(array)
        memory = code.words(1)
        buffer = copied(self.new, code, values, memory)
        code.decref(values)
        code.require(code.differ(buffer, integer(0)), self.refused)
        code.write(self.numbers, integer(0), code.read(self.n_fresh))
        self._append(self.fresh, self.n_fresh, buffer)
        known = code.read(memory)
        code.write(part, code.incref(code.item(known, 1)))
        code.decref(known)
        builder.branch(after)
        code.begin(after)
        return code.read(part)

    def _part_of_outside(self, operand: ir.Value, node: ir.Value) -> ir.Value:
        """Return the part for a value without a slot; its slot to come if it is an operand for the second time."""
        code, builder = self.code, self.code.builder
        part, at = code.words(1), code.words(1)
        code.write(at, integer(-1))
        with code.each(code.read(self.n_fresh)) as position:
            is_operand = code.same(code.read(self.fresh, position), operand)
            code.write(at, builder.select(is_operand, position, code.read(at)))
        is_new = code.same(code.read(at), integer(-1))
        with builder.if_else(is_new, likely=True) as (new, again):
            with new:
                code.write(part, code.incref(self._import_key(operand)))
            with again:
                first = code.size(code.get(node, "Node.n_slots", self.refused))
                slot = builder.add(first, code.read(at))
                code.write(part, code.attempt(self.refused, "PyLong_FromSsize_t", slot))
        return code.read(part)

    def _import_key(self, operand: ir.Value) -> ir.Value:
        """Return the marker of a computed value that is imported for the first time."""
        code, builder = self.code, self.code.builder
        none = code.known("None")
        marker, buffer = (code.get(operand, place, self.refused) for place in ("_marker", "_buffer"))
        code.require(code.differ(marker, none), self.refused)
        code.require(code.is_a(buffer, "Buffer"), self.refused)
        self._refuse_held(code.get(operand, "_trace", self.refused))
        is_variable = code.is_a(operand, "Variable")
        with builder.if_then(is_variable):
            code.require_same(self.refused, (code.get(operand, "_assigned_in", self.refused), none))
        tables = [
            code.get(self.trace, place, self.refused) for place in ("Trace.variables", "Trace.imported")
        ]
        known = builder.select(is_variable, *tables)
        number = self._append_fresh(code.incref(operand))
        entry = code.call("PyDict_GetItemWithError", known, number)
        code.require(code.same(entry, integer(0)), self.refused)
        return marker

    def _refuse_held(self, former: ir.Value) -> None:
        """Refuse a value whose former trace a tape holds; Python tells that trace about the import."""
        code, builder = self.code, self.code.builder
        with builder.if_then(code.differ(former, code.known("None"))):
            code.require(code.is_a(former, "Trace"), self.refused)
            holders = code.get(former, "Trace.holders", self.refused)
            code.require_same(self.refused, (holders, code.known("zero")))

    def _append_fresh(self, value: ir.Value) -> ir.Value:
        """Add a value to import, a new reference; return its key in the trace's dictionaries."""
        code, position = self.code, self.code.read(self.n_fresh)
        code.write(self.numbers, integer(0), position)
        self._append(self.fresh, self.n_fresh, value)
        number = code.attempt(self.refused, "PyLong_FromSsize_t", value)
        code.write(self.numbers, number, position)
        return number

    def _append(self, values: ir.Value, counter: ir.Value, value: ir.Value) -> None:
        code = self.code
        position = code.read(counter)
        code.write(values, value, position)
        code.write(counter, code.builder.add(position, integer(1)))

    def _child(self, node: ir.Value) -> ir.Value:
        """Return the child for the key, with a new reference."""
        code, builder = self.code, self.code.builder
        children = code.get(node, "Node.children", self.refused)
        memory = code.words(1)
        code.write(memory, self._first_child(children))
        with builder.if_then(code.same(code.read(memory), integer(0))):
            code.write(memory, self._found_child(children, node))
        child = code.read(memory)
        with builder.if_then(code.differ(self.aval, integer(0)), likely=False):
            aval = code.get(child, "Node.aval", self.refused)
            code.require(code.equal(self.aval, aval), self.refused)
        no_scalars = code.same(code.read(self.n_scalars), integer(0))
        as_given = code.same(code.get(child, "Node.takes_scalars_as_given", self.refused), code.known("True"))
        with builder.if_then(builder.not_(builder.or_(no_scalars, as_given))):
            self._convert_scalars(code.get(child, "Node.conversions", self.refused))
        return code.incref(child)

    def _first_child(self, children: ir.Value) -> ir.Value:
        """Return the oldest child if the call leads to it, by a comparison of identities; else 0.

        Most nodes have one child, and its key holds these very objects. The gradient of a program of nine ops takes
        6.6 µs instead of 7.1, as no tuple is made, hashed and looked up.
        """
        code, builder = self.code, self.code.builder
        found, place, first = code.words(1), code.words(1), code.words(2)
        compare, end = code.block("compare"), code.block("first.end")
        for memory in (found, place):
            code.write(memory, integer(0))
        more = code.call("PyDict_Next", children, place, first, code.element(first, 1))
        builder.cbranch(code.differ(more, ir.Constant(more.type, 0)), compare, end)
        code.begin(compare)
        key = code.read(first)
        code.require(code.is_a(key, "tuple"), end)  # the key of a gradient is one, too
        code.require_same(end, (code.length_of(key), builder.add(self.count, integer(2))))
        code.require_same(end, (code.item(key, 0), self.body), (code.item(key, 1), self.static))
        with code.each(self.count) as position:
            part = code.item(key, builder.add(position, integer(2)))
            code.require_same(end, (part, code.read(self.parts, position)))
        code.write(found, code.read(first, 1))
        builder.branch(end)
        code.begin(end)
        return code.read(found)

    def _found_child(self, children: ir.Value, node: ir.Value) -> ir.Value:
        """Return the child that the trie has for the key."""
        code, builder = self.code, self.code.builder
        key = code.attempt(self.refused, "PyTuple_New", builder.add(self.count, integer(2)))
        code.fill(key, 0, code.incref(self.body))
        code.fill(key, 1, code.incref(self.static))
        with code.each(self.count) as position:
            part = code.incref(code.read(self.parts, position))
            code.fill(key, builder.add(position, integer(2)), part)
        child = code.call("PyDict_GetItemWithError", children, key)
        code.decref(key)
        code.require(code.differ(child, integer(0)), self.refused)
        # Comparing keys may have run user code that has recorded.
        code.require_same(self.refused, (code.get(self.trace, "Trace.node", self.refused), node))
        return child

    def _convert_scalars(self, conversions: ir.Value) -> None:
        """Convert the scalars as `Node.conversions` says. For an int that does not fit, Python raises the error."""
        code, builder = self.code, self.code.builder
        code.require(code.is_a(conversions, "tuple"), self.refused)
        with code.each(code.read(self.n_scalars)) as position:
            wanted, scalar = code.item(conversions, position), code.read(self.scalars, position)
            with builder.if_then(code.same(wanted, code.known("int"))):
                code.require(code.is_a(scalar, "int"), self.refused)
                code.index(scalar, self.refused)
            with builder.if_then(code.is_a(wanted, "tuple")):
                code.require(code.is_a(scalar, "int"), self.refused)
                number = code.index(scalar, self.refused)
                low, high = (code.index(code.item(wanted, i), self.refused) for i in range(2))
                code.require(builder.icmp_signed(">=", number, low), self.refused)
                code.require(builder.icmp_signed("<=", number, high), self.refused)
            with builder.if_then(code.same(wanted, code.known("float"))):
                code.write(self.scalars, code.attempt(self.refused, "PyNumber_Float", scalar), position)
                code.decref(scalar)

    def _import_inputs(self, child: ir.Value) -> None:
        """Import the inputs, as `Trace._import` does; from here on, only an error can end the call."""
        code, builder = self.code, self.code.builder
        inputs = code.get(child, "Node.inputs", self.failed)
        with code.each(code.read(self.n_fresh)) as position:
            operand, number = (code.read(memory, position) for memory in (self.fresh, self.numbers))
            slot = code.item(code.item(inputs, position), 0)
            with builder.if_else(code.is_a(operand, "Buffer")) as (copied_array, value):
                with copied_array:  # no handle refers to it
                    self._append_input(operand)
                with value:
                    self._import_value(operand, number, slot)
            code.decref(operand)
        with builder.if_then(code.differ(code.read(self.n_fresh), integer(0))):
            most = code.size(code.get(code.known("config"), "Config._max_pending_bytes", self.failed))
            nbytes = code.size(code.get(child, "Node.nbytes", self.failed))
            with builder.if_then(builder.icmp_signed(">", nbytes, most), likely=False):
                code.put(self.trace, "Trace.limit", code.incref(code.known("zero")))
        with code.each(code.read(self.n_scalars)) as position:
            scalar = code.read(self.scalars, position)
            self._append_input(scalar)
            code.decref(scalar)

    def _import_value(self, operand: ir.Value, number: ir.Value, slot: ir.Value) -> None:
        """Import a Tensor or Variable, whose key in the trace's dictionaries is `number`."""
        code = self.code
        buffer = code.incref(code.get(operand, "_buffer", self.failed))
        self._append_input(buffer)
        with code.builder.if_else(code.is_a(operand, "Variable")) as (variable, tensor):
            with variable:
                slots = code.new_tuple(self.failed, code.incref(slot))
                entry = code.new_tuple(self.failed, code.incref(operand), slots)
                self._set_entry("Trace.variables", number, entry)
                code.decref(buffer)
            with tensor:
                entry = code.new_tuple(self.failed, code.incref(slot), code.incref(operand), buffer)
                self._set_entry("Trace.imported", number, entry)
        code.put(operand, "_trace", code.incref(self.trace))
        code.put(operand, "_slot", code.incref(slot))

    def _append_input(self, value: ir.Value) -> None:
        inputs = self.code.get(self.trace, "Trace.inputs", self.failed)
        self.code.attempt(self.failed, "PyList_Append", inputs, value)

    def _set_entry(self, table: str, number: ir.Value, entry: ir.Value) -> None:
        code = self.code
        known = code.get(self.trace, table, self.failed)
        code.attempt(self.failed, "PyDict_SetItem", known, number, entry)
        code.decref(entry)
        code.decref(number)

    def _results(self, child: ir.Value) -> ir.Value:
        """Return the Tensor of the result of `child`, or a tuple of several."""
        code, made = self.code, self.code.words(1)
        results = code.get(child, "Node.results", self.failed)
        with code.builder.if_else(code.same(results, code.known("None")), likely=True) as (one, several):
            with one:
                slot, aval = (code.get(child, place, self.failed) for place in ("Node.slot", "Node.aval"))
                code.write(made, pending_tensor(code, self.trace, slot, aval, self.failed))
            with several:
                values = code.attempt(self.failed, "PyTuple_New", code.length_of(results))
                with each_result(code, self.trace, results, self.failed) as (i, tensor):
                    code.fill(values, i, tensor)
                code.write(made, values)
        return code.read(made)

    def _run_if_many(self, made: ir.Value) -> None:
        """Run the pending ops if there are too many; an error ends the call, which then drops `made`."""
        code, builder = self.code, self.code.builder
        count = code.call("PyList_Size", code.get(self.trace, "Trace.pending", self.failed))
        limit = code.size(code.get(self.trace, "Trace.limit", self.failed))
        with builder.if_then(builder.icmp_signed(">", count, limit), likely=False):
            memory = code.words(1)
            code.write(memory, self.trace)
            answer = code.call_object(code.known("Trace._flush_over_limit"), memory, integer(1))
            with builder.if_then(code.same(answer, integer(0)), likely=False):
                code.decref(made)
                builder.ret(integer(0))
            code.decref(answer)
