"""`FunctionInterface`: the methods of compiled functions besides calls, for functions and bound methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from jittape.foreign_names import ATTRIBUTES_LEFT_OUT, with_foreign_names
from jittape.functions.signature_text import pretty_signature
from jittape.functions.trace_report import Signature
from jittape.html_report import html_table

if TYPE_CHECKING:
    from jittape.functions.bound_function import ConcreteFunction
    from jittape.functions.function import Function

__all__ = ["FunctionInterface"]


@with_foreign_names(ATTRIBUTES_LEFT_OUT["function"])
class FunctionInterface:
    """The methods that a compiled function and a bound method share."""

    __slots__ = ()
    _function: Any
    """The compiled function, or the one with the traces of the instance."""

    @property
    def _owner(self) -> tuple[Any, ...]:
        """The instance of a bound method; nothing for a function."""
        return ()

    @property
    def _own(self) -> Function:
        function: Function = self._function
        return function

    # ---- the Python function ---------------------------------------------------------------------------------------

    @property
    def python_function(self) -> Callable[..., Any]:
        """The Python function; for a method, the function of the class."""
        return self._own._python

    @property
    def input_signature(self) -> tuple[Any, ...] | None:
        """The fixed input signature; None without one."""
        signature = self._own._input_signature
        return None if signature is None else tuple(signature)

    @property
    def name(self) -> str:
        """Name of the Python function."""
        return self._own._name

    # ---- traces ----------------------------------------------------------------------------------------------------

    @property
    def trace_count(self) -> int:
        """Number of times the Python function has run to be traced, also as a part of a gradient or function."""
        return self._own._trace_count + self._own._inlined

    def experimental_get_tracing_count(self) -> int:
        """Return `trace_count`; TensorFlow's name."""
        return self.trace_count

    def experimental_get_compiler_ir(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise `NotImplementedError`: the programs of jittape are not XLA's."""
        raise NotImplementedError(
            "experimental_get_compiler_ir returns the text of XLA, which jittape does not use: "
            "get_concrete_function(...).program is the op list, and jt.explain() after a call has the kernels"
        )

    def get_concrete_function(self, /, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Trace the function for these arguments without running it.

        Parameters
        ----------
        *args, **kwargs
            Arguments; a `TensorSpec` may replace an array. A function with an input signature needs no arguments.

        Returns
        -------
        ConcreteFunction
            Function for arguments of this signature only.
        """
        return self._own._concrete(self._owner, args, kwargs)

    def signatures(self) -> tuple[Signature, ...]:
        """Return the traced signatures, oldest first; at most `jt.config.max_signatures` are kept."""
        return self._own._traces.signatures()

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """Return parameters, results and Variables from outside of all traces as text, in TensorFlow's form.

        Without `verbose`, each trace is one line.
        """
        own, skip = self._own, len(self._owner)
        if not verbose:
            return "\n".join([f"{own._name}{str(one).splitlines()[0]}" for one in own._traces.signatures()])
        return "\n".join([pretty_signature(own._python, skip, trace) for trace in own._traces.traces()])

    def _repr_html_(self) -> str:
        traces = self._own._traces
        rows = [
            (
                ", ".join([f"{name}: {what}" for name, what in one.arguments]),
                one.why,
                *_execution(one, getattr(trace, "_compiled", None)),
            )
            for one, trace in zip(traces.signatures(), traces.traces(), strict=False)
        ]
        heads = ("arguments", "traced because", "state", "kernels", "time of the kernels")
        return html_table(repr(self), rows, heads)

    def explain(self) -> str:
        """Return a report that states for each signature why it was traced and how it runs.

        Examples
        --------
        >>> import jittape as jt
        >>> @jt.function
        ... def double(x):
        ...     return x + x
        >>> _ = double(jt.constant([1.0])), double(jt.constant([1.0, 2.0]))
        >>> print(double.explain())
        double: 2 signatures, traced 2 times
        1. (x: float32[1])
            traced because it is the first call
            compiled
        2. (x: float32[?])
            traced because x changed from float32[1] to float32[2]
            compiled, for other extents in place of ? too
        """
        own = self._own
        count, dropped = len(own._traces), own._traces.dropped
        head = f"{own._name}: {_counted(count, 'signature')}, traced {_counted(self.trace_count, 'time')}"
        head += (
            f", {own._inlined} of them as a part of a gradient or another function" if own._inlined else ""
        )
        head += f"; {dropped} more have been dropped" if dropped else ""
        return "\n".join([head, *[f"{i}. {s}" for i, s in enumerate(self.signatures(), 1)]])


def _execution(signature: Signature, compiled: Any) -> tuple[str, str, str]:
    """Return texts about how a trace runs: its state, its kernels and their time."""
    if compiled is None:
        return signature.recorded or "compiled at the first run", "", ""
    steps = [
        ", ".join(dict.fromkeys([op.primitive.name for op in step.ops])) for step in compiled.explained.steps
    ]
    more = [f"and {len(steps) - _KERNELS} more"] if len(steps) > _KERNELS else []
    kernels = "\n".join([f"{i}. {text}" for i, text in enumerate(steps[:_KERNELS], 1)] + more)
    runs, seconds = compiled.profiled
    time = f"{1e6 * seconds / runs:,.3g} µs per call (last profile)" if runs else "jt.profile() measures it"
    return f"compiled in {compiled.compile_seconds:.2g} s", kernels, time


_KERNELS = 4
"""Maximum number of kernels that a notebook lists."""


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
