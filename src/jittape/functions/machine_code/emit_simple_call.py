"""The writer of the simple call: see `jittape.functions.marshaller.simple_call`."""

from __future__ import annotations

from llvmlite import ir

from jittape.compile.llvm.ir_helpers import integer
from jittape.functions.machine_code.emit_marshaller import Marshaller
from jittape.functions.marshal_plan import Head
from jittape.runtime.emit_result_sets import let_next_be_first, take_first

__all__ = ["SimpleCall"]


class SimpleCall(Marshaller):
    """The writer of a marshaller that takes a state and the memory of the results itself.

    A state is a tuple of a workspace and the address of a plan. It belongs to the call until `finish` puts it back.
    """

    def take_arguments(self) -> None:
        """Take a state from the end of the list, and the first set of results, if it is free."""
        self.state, self.found = self.words(1), self.words(1)
        for word in (self.state, self.found):
            self.write(word, integer(0))
        self.arguments, self.states = self.argument(0), self.argument(1)
        self.calls = self.address_argument(2)
        workspace_type, poison, false, zero = (self.argument(i) for i in range(3, 7))
        last = self.builder.sub(self.call("PyList_Size", self.states), integer(1))
        self.hold(self.builder.icmp_signed(">=", last, integer(0)))
        state = self.incref(self.call("PyList_GetItem", self.states, last))
        self.write(self.state, state)
        self.call("PyList_SetSlice", self.states, last, self.builder.add(last, integer(1)), integer(0))
        workspace = self.item(state, 0)
        self.plan = self.index(self.item(state, 1), self.failed)
        none = self.load(self.plan, 8 * Head.NONE)
        self.hold(self.differ(self.get(workspace, "Workspace._arena", self.failed), none))
        self.cells = self.index(self.get(workspace, "Workspace.address", self.failed), self.failed)
        memory = self.get(workspace, "Workspace._results", self.failed)
        self.sets = take_first(self, memory, self.found, (false, none, zero), self.failed)
        self.results = self.item(self.read(self.found), 0)
        with self.builder.if_then(self.differ(self.type_of(workspace), workspace_type), likely=False):
            self.poison(poison, workspace)
        self.held = self.results  # no entry reads it

    def run(self) -> None:
        """Run the table, unless a trace has read a Variable to assign: Python knows how to assign it then.

        Another thread may read one during the run. Nothing is assigned then, and Python runs the table again.
        """
        self.hold(self.untouched(self.head(Head.ENTRIES), self.head(Head.ASSIGNED)))
        super().run()

    def poison(self, function: ir.Value, workspace: ir.Value) -> None:
        """Fill the memory of the run, as `config.poison_memory` says; no result is an updated input."""
        words = self.words(3)
        for i, value in enumerate((workspace, self.results, self.results)):
            self.write(words, value, i)
        answer = self.call_object(function, words, integer(3))
        self.hold(self.differ(answer, integer(0)))
        self.decref(answer)

    def place_results(self) -> None:
        """Write the addresses of the results; the next run finds another set free first."""
        super().place_results()
        let_next_be_first(self, self.sets, self.found)

    def finish(self) -> None:
        """Put the state back."""
        with self.builder.if_then(self.differ(self.read(self.state), integer(0)), likely=True):
            self.call("PyList_Append", self.states, self.read(self.state))
        for word in (self.state, self.found):
            self.decref(self.read(word))
