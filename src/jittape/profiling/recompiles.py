"""`jt.explain_recompiles`: why programs were recorded and compiled more than once."""

from __future__ import annotations

from dataclasses import dataclass

from jittape.core.config import config
from jittape.functions.trace_table import all_functions, compiled_traces
from jittape.recording.new_programs import NewProgram, place_at
from jittape.recording.trie import Node, trie
from jittape.runtime.cold_code import compiled_paths
from jittape.runtime.counters import counters

__all__ = ["Recompiles", "explain_recompiles"]

_SHORT = 80
"""Maximum length of two values of a part of the environment that are shown."""
_ENVIRONMENTS = 3
"""Maximum number of other environments that are listed."""


@dataclass(frozen=True)
class Recompiles:
    """Places where programs differ from earlier ones; ``print`` shows them as a page.

    Attributes
    ----------
    places : tuple of NewProgram
        Lines of plain loops, those with the most programs first.
    functions : tuple of str
        The ``explain()`` of each `jt.function` with several signatures, those with the most first.
    programs, kernels_compiled, kernels_loaded, kernels_found : int
        Programs compiled since the start or `jt.reset_stats`, and their kernels: compiled, loaded from disk, and in
        memory before.
    seconds : float
        Time that this took.
    elsewhere : tuple of str
        Kernels that were compiled although they are on disk for another environment, and what differs.
    """

    places: tuple[NewProgram, ...]
    functions: tuple[str, ...]
    programs: int
    kernels_compiled: int
    kernels_loaded: int
    kernels_found: int
    seconds: float
    elsewhere: tuple[str, ...]

    def __str__(self) -> str:
        count = f"{self.programs} program{'' if self.programs == 1 else 's'}"
        head = [
            f"{count} compiled in {self.seconds:.2g} s: {self.kernels_compiled} kernels compiled, "
            f"{self.kernels_loaded} loaded from disk, {self.kernels_found} known",
            f"a program is interpreted {_times(config.compile_after)}, then compiled (jt.config.compile_after)",
            f"{trie.n_nodes:,} recorded calls are kept, of at most {config.max_trie_nodes:,} (jt.config.max_trie_nodes)"
            + (f"; {trie.pruned:,} have been dropped" if trie.pruned else ""),
        ]
        parts = ["\n".join([*head, *self.elsewhere])]
        if not self.places and not self.functions:
            parts.append("no line has recorded more than one program")
        for place in self.places:
            name = "an unknown line" if place.line is None else str(place.line)
            parts.append(
                f"{name}: {place.programs} programs\n    the last: {place.change}\n    remedy: {place.remedy}"
            )
        return "\n\n".join([*parts, *self.functions])

    __repr__ = __str__


def explain_recompiles() -> Recompiles:
    """Explain why programs were recorded and compiled more than once, in plain loops and in functions.

    Returns
    -------
    Recompiles
        For each line where programs part: how many there are, what the last one changed, from what to what, and the
        remedy; for each `jt.function` with several signatures, why it was traced.

    Examples
    --------
    >>> import jittape as jt
    >>> x = jt.ones([12])
    >>> for rows in (2, 3, 4):
    ...     total = float(jt.reduce_sum(jt.reshape(x, (rows, -1)) * 2.0))
    >>> [place.change for place in jt.explain_recompiles().places if "(4, -1)" in place.change]
    ['shape of `reshape` changed from (3, -1) to (4, -1)']
    """
    places: list[NewProgram] = []
    for root in trie.roots():
        places += _places_below(root)
    places = _joined_branches(places)
    places.sort(key=lambda place: -place.programs)
    functions = sorted(
        [one for one in all_functions.values() if len(one.signatures()) > 1],
        key=lambda one: -len(one.signatures()),
    )
    return Recompiles(
        tuple(places),
        tuple([one.explain() for one in functions]),
        counters.programs_compiled,
        counters.kernels_compiled,
        counters.kernels_loaded,
        counters.kernels_found,
        counters.compile_seconds,
        _elsewhere(),
    )


def _places_below(root: Node) -> list[NewProgram]:
    """Return the places below a root where programs part, one for each node and function."""
    found: list[NewProgram] = []
    waiting = [root]
    while waiting:
        parent = waiting.pop()
        children = list(parent.children.items())
        waiting += [node for _, node in children]
        known = [(key[0], node) for key, node in children if node.derivation is None and callable(key[0])]
        last = dict(known)
        first = dict(reversed(known))
        for body, node in last.items():
            several = node is not first[body]
            if (several or node is not known[0][1]) and (place := place_at(parent, node)) is not None:
                found.append(place)
    return found


def _joined_branches(places: list[NewProgram]) -> list[NewProgram]:
    """Return the places with one for all branches of a line, such as those of a loop with a changing length."""
    found: dict[object, NewProgram] = {}
    for place in places:
        key = (place.line, place.operation) if place.kind == "branch" else id(place)
        known = found.get(key)
        found[key] = place if known is None else place._replace(programs=known.programs + place.programs - 1)
    return list(found.values())


def _elsewhere() -> tuple[str, ...]:
    """Return texts about kernels that were compiled although another environment has them on disk."""
    compiled = [path.compiled for path in compiled_paths()] + [trace._compiled for trace in compiled_traces()]
    origins = [one.origins for one in compiled if one is not None]
    if not origins:
        return ()
    from jittape.compile.cache.kernel_cache import Origin  # imports LLVM, which the executables have done
    from jittape.compile.cache.other_environments import known_elsewhere

    names = {name for one in origins for name, origin in one.items() if origin is Origin.COMPILED}
    texts = []
    for found in known_elsewhere(names):
        pairs = found.parts.items()
        differing = ", ".join([_difference(part, there, here) for part, (there, here) in pairs])
        count = f"{found.kernels} of the compiled kernels {'is' if found.kernels == 1 else 'are'}"
        texts.append(f"{count} on disk for another environment ({differing})")
    return tuple(texts[:_ENVIRONMENTS])


def _difference(part: str, there: str, here: str) -> str:
    return part if len(there) + len(here) > _SHORT else f"{part}: {there!r} there, {here!r} here"


def _times(count: int) -> str:
    return {0: "never", 1: "once"}.get(count, f"{count} times")
