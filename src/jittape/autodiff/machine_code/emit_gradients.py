"""Machine code that finds a gradient in the trie: see `jittape.autodiff.known_gradients`."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.native.object_code import ObjectCode
from jittape.recording.machine_code.emit_operands import New, each_result, recorder

__all__ = ["find_gradient"]


def find_gradient(
    new: New, code: ObjectCode, interval: ir.Value, target: ir.Value, sources: ir.Value
) -> ir.Value:
    """Return the gradient in the structure of `sources`, a new reference.

    The result is 0 in all unusual cases, in which nothing has changed, and with an error set if there is no memory.
    """
    return code.call_shared(
        "jittape_find_gradient",
        lambda function: _KnownGradient(new, function).emit(),
        interval,
        target,
        sources,
    )


class _KnownGradient:
    """The writer of the function."""

    def __init__(self, new: New, function: ir.Function) -> None:
        self.code = code = new(function)
        self.interval, self.target, self.sources_given = function.args
        self.refused, self.lost = code.block("refused"), code.block("lost")
        self.key, self.sources = code.words(1), code.words(1)
        for word in (self.key, self.sources):
            code.write(word, integer(0))
        self.trace = self._part("trace")

    def _part(self, name: str) -> ir.Value:
        return self.code.get(self.interval, f"TapeInterval.{name}", self.refused)

    def emit(self) -> None:
        code, builder, refused = self.code, self.code.builder, self.refused
        self._require_recorded()
        single = self._take_sources(self.sources_given)
        self._make_key()
        node = code.get(self.trace, "Trace.node", refused)
        children = code.get(node, "Node.children", refused)
        child = code.call("PyDict_GetItemWithError", children, code.read(self.key))
        code.require(code.differ(child, integer(0)), refused)
        whole = code.get(child, "Node.is_whole_gradient", refused)
        code.require_same(refused, (whole, code.known("True")))
        results = code.get(child, "Node.results", refused)
        code.require(code.is_a(results, "tuple"), refused)
        made = code.attempt(refused, "PyTuple_New", code.length_of(results))
        code.put(self.trace, "Trace.node", code.incref(child))
        with each_result(code, self.trace, results, self.lost) as (i, tensor):
            code.fill(made, i, tensor)
        self._release()
        with builder.if_then(single):
            only = code.incref(code.item(made, 0))
            code.decref(made)
            builder.ret(only)
        with builder.if_then(code.is_a(self.sources_given, "list")):
            as_list = code.call("PySequence_List", made)
            code.decref(made)
            builder.ret(as_list)
        builder.ret(made)
        code.begin(refused)
        code.call("PyErr_Clear")
        self._release()
        builder.ret(integer(0))
        code.begin(self.lost)
        builder.ret(integer(0))

    def _release(self) -> None:
        for word in (self.key, self.sources):
            self.code.decref(self.code.read(word))

    def _require_recorded(self) -> None:
        """Require that this thread records the trace, where nothing was written to or spliced, and the target.

        The tape has been left, has no spliced ops and has not been told to watch a Variable.
        """
        code, refused = self.code, self.refused
        code.require(code.is_a(self.trace, "Trace"), refused)
        current = recorder(code, refused)
        code.decref(current)
        code.require(code.is_a(self.target, "Tensor"), refused)
        pairs = (
            (current, self.trace),
            (code.get(self.target, "_trace", refused), self.trace),
            (code.get(self.trace, "Trace.former", refused), code.known("SAME")),
            (code.get(self.trace, "Trace.written", refused), code.known("NOTHING_WRITTEN")),
            (self._part("recording"), code.known("False")),
            (self._part("_earlier"), code.known("NOTHING_READ")),
            (code.call("PyList_Size", self._part("_watched_variables")), integer(0)),
        )
        code.require_same(refused, *pairs)

    def _take_sources(self, sources: ir.Value) -> ir.Value:
        """Keep the sources as a tuple; return whether there is one that is in no list or tuple."""
        code, builder, refused = self.code, self.code.builder, self.refused
        is_list, is_tuple = code.is_a(sources, "list"), code.is_a(sources, "tuple")
        single = builder.not_(builder.or_(is_list, is_tuple))
        with builder.if_then(is_list):
            code.write(self.sources, code.attempt(refused, "PyList_AsTuple", sources))
        with builder.if_then(is_tuple):
            code.write(self.sources, code.incref(sources))
        with builder.if_then(single):
            code.write(self.sources, code.new_tuple(refused, code.incref(sources)))
        return single

    def _make_key(self) -> None:
        """Make the key of `jittape.autodiff.reverse.gradient_key`; a tuple equals the named tuple `TapeView`."""
        code, refused = self.code, self.refused
        sources = code.read(self.sources)
        slots = code.attempt(refused, "PyTuple_New", code.length_of(sources))
        key = code.new_tuple(refused, code.incref(code.known("gradient")), *[integer(0)] * 4)
        code.write(self.key, key)
        code.fill(key, 2, slots)
        code.fill(key, 1, code.new_tuple(refused, code.incref(code.get(self.target, "_slot", refused))))
        code.fill(key, 3, code.new_tuple(refused, code.incref(code.known("None"))))
        with code.each(code.length_of(sources)) as i:
            code.fill(slots, i, self._slots_of(code.item(sources, i)))
        view = code.new_tuple(refused, integer(0), integer(0), code.incref(self._part("_accessed")))
        code.fill(key, 4, view)
        for i, name in enumerate(("_segments", "_watches")):
            code.fill(view, i, code.attempt(refused, "PyList_AsTuple", self._part(name)))

    def _slots_of(self, source: ir.Value) -> ir.Value:
        """Return the slots of a source as a new reference to a tuple."""
        code, builder, refused = self.code, self.code.builder, self.refused
        slots = code.words(1)
        is_variable = code.is_a(source, "Variable")
        with builder.if_else(is_variable) as (variable, tensor):
            with variable:
                number = code.attempt(refused, "PyLong_FromSsize_t", source)
                variables = code.get(self.trace, "Trace.variables", refused)
                entry = code.call("PyDict_GetItemWithError", variables, number)
                code.decref(number)
                code.require(code.differ(entry, integer(0)), refused)
                code.write(slots, code.incref(code.item(entry, 1)))
            with tensor:
                code.require(code.is_a(source, "Tensor"), refused)
                code.require_same(refused, (code.get(source, "_trace", refused), self.trace))
                slot = code.get(source, "_slot", refused)
                code.write(slots, code.new_tuple(refused, code.incref(slot)))
        return code.read(slots)
