"""Rules that decide which values are stored and which are recomputed in each loop nest that needs them."""

from __future__ import annotations

from collections.abc import Callable, Set

from jittape.compile.analysis.op_traits import OpProperties
from jittape.compile.analysis.uses import Use
from jittape.compile.ir.index_maps import picks, repeats, times_along, visited
from jittape.core.locks import cached_property
from jittape.core.tuning import tuning
from jittape.value_classes import NamedTuple

__all__ = ["Candidate", "is_read_once", "store_rule"]


def is_read_once(properties: OpProperties, uses: Set[Use]) -> bool:
    """Return whether one nest needs a value, each element once and not at an index from an array.

    Such a value is recomputed; no rule is needed.
    """
    if len(uses) != 1 or properties.strided:
        return False
    ((_, access),) = uses
    return access is properties.whole or not (picks(access) or repeats(access))


class Candidate:
    """A value that may be stored or recomputed.

    Attributes
    ----------
    properties : OpProperties
        The properties of the op that computes the value.
    uses : set of Use
        The loop nests that need the value, with their index maps.
    cost, loads : int
        Instructions and loads of one element, including those of all values that it is inlined from.
    cautious : bool
        Whether every value with several uses is stored.
    is_free : bool
        Whether storing saves no instruction.
    """

    def __init__(
        self, properties: OpProperties, uses: Set[Use], cost: tuple[int, int], cautious: bool
    ) -> None:
        self.properties = properties
        self.uses = uses
        self.cost, self.loads = cost
        self.cautious = cautious
        # Of a view that repeats an array, the array is stored.
        self.is_free = not uses or self.cost == 0 or properties.repeats

    @property
    def is_read_often_across_memory(self) -> bool:
        """Return whether a nest reads a view often along an axis whose elements are not neighbors in memory."""
        limit = tuning.strided_reads_before_copy
        return self.properties.strided and any(times_along(g[0], access) >= limit for g, access in self.uses)

    @cached_property
    def gathers(self) -> int:
        """The maximum number of index arrays on the way to an element."""
        return max([picks(access) for _, access in self.uses])

    @property
    def is_cheap(self) -> bool:
        if self.properties.size == 1:
            return self.cost <= tuning.recompute_scalar_cost_limit
        return self.cost <= tuning.recompute_cost_limit and self.loads <= tuning.recompute_loads_limit

    @property
    def is_long_in_many_nests(self) -> bool:
        """Return whether several nests would contain an expression longer than a piece of a split nest.

        The cotangents of an array that grows in each step of a loop are such values: without this rule, the gradient of
        100 steps takes 15 s to compile instead of 0.4.
        """
        return self.cost > tuning.split_piece_cost and len({group for group, _ in self.uses}) > 1

    @property
    def is_repeated(self) -> bool:
        """Return whether a nest needs the same element in several iterations."""
        return any([repeats(access) for _, access in self.uses])

    @property
    def visits_exceed_size(self) -> bool:
        """Return whether more elements would be computed than the value has."""
        if len(self.uses) == 1 and not self.gathers:
            return False
        return sum([visited(group[0], access) for group, access in self.uses]) > self.properties.size


class _StoreRule(NamedTuple):
    name: str
    applies: Callable[[Candidate], bool]
    stored: bool


_RULES = (
    _StoreRule("read often across memory", lambda c: c.is_free and c.is_read_often_across_memory, True),
    _StoreRule("free", lambda c: c.is_free, False),
    _StoreRule("many gathers in a row", lambda c: c.gathers > tuning.recompute_gathers_limit, True),
    _StoreRule("several uses", lambda c: c.cautious and len(c.uses) > 1, True),
    _StoreRule("many uses", lambda c: c.is_cheap and len(c.uses) > tuning.recompute_uses_limit, True),
    _StoreRule("cheap", lambda c: c.is_cheap, False),
    _StoreRule("long code in several nests", lambda c: c.is_long_in_many_nests, True),
    _StoreRule("needed in several iterations", lambda c: c.is_repeated, True),
    _StoreRule("more visits than elements", lambda c: c.visits_exceed_size, True),
)
"""The first rule that applies decides; a value that no rule applies to is recomputed."""


def store_rule(candidate: Candidate) -> str | None:
    """Return the name of the rule by which a value must be stored, or None if it is recomputed."""
    for name, applies, stored in _RULES:
        if applies(candidate):
            return name if stored else None
    return None
