"""Warnings of the user's function at workers, which the client issues: nobody reads what a worker prints."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jittape.core.user_calls import stack_level
from jittape.errors import TapeExitWarning, UnconnectedGradientWarning

__all__ = ["Findings", "findings_of", "merged_findings", "report"]

_Warned = tuple[type[Warning], str, str, int]
"""Category, text, file and line."""
_lock = threading.Lock()
"""Held while warnings are recorded, which changes the state of the whole process. Workers may be threads of one."""


class Findings(NamedTuple):
    """Findings of the first visit to some blocks.

    Attributes
    ----------
    warned : tuple
        Warnings about lost gradients.
    unconnected : frozenset of int
        Numbers of the weights that have no gradient in any of the blocks.
    """

    warned: tuple[_Warned, ...]
    unconnected: frozenset[int]


def findings_of(compute: Callable[[], tuple[Any, Sequence[Any]]]) -> tuple[Any, Findings]:
    """Return the first result of `compute`, and findings; its second result has None for a weight without gradient."""
    with _lock:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", TapeExitWarning)
            warnings.simplefilter("always", UnconnectedGradientWarning)
            result, gradients = compute()
        lost = [w for w in caught if issubclass(w.category, TapeExitWarning | UnconnectedGradientWarning)]
        for other in caught:
            if other not in lost:
                warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    warned = dict.fromkeys([(w.category, str(w.message), w.filename, w.lineno) for w in lost])
    return result, Findings(tuple(warned), frozenset([i for i, g in enumerate(gradients) if g is None]))


def merged_findings(left: Findings | None, right: Findings | None) -> Findings | None:
    """Return the findings in the blocks of both."""
    if left is None or right is None:
        return left if right is None else right
    warned = tuple(dict.fromkeys(left.warned + right.warned))
    return Findings(warned, left.unconnected & right.unconnected)


def report(findings: Findings, names: Sequence[str]) -> None:
    """Issue the warnings in this process; `names` are those of the weights."""
    for category, text, file, line in findings.warned:
        if category is not UnconnectedGradientWarning:
            warnings.warn_explicit(text, category, file, line)
    if findings.unconnected:
        which = ", ".join([names[i] for i in sorted(findings.unconnected)])
        why = next(
            (text for category, text, *_ in findings.warned if category is UnconnectedGradientWarning), ""
        )
        warnings.warn(
            f"[dask.value_and_grad] the gradient with respect to {which} is zero, because it is None in every block. "
            f"In the first block: {why}",
            UnconnectedGradientWarning,
            stacklevel=stack_level(),
        )
