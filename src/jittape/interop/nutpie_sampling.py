"""`jt.nutpie_draws`: draws of nutpie's sampler as arrays, without the libraries in which nutpie returns them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any, NamedTuple

import numpy as np

from jittape.core.argument_checks import optional_whole_number
from jittape.core.locks import lock
from jittape.interop.nutpie_model import nutpie_parts
from jittape.interop.optional_library import imported

__all__ = ["NutpieDraws", "nutpie_draws"]

_CORE = "nutpie._lib"
_OWNER = "nutpie_draws"
_loading = lock()
_COUNTERS = ("chain", "draw", "tuning")
"""Columns of the statistics that number the draws."""


class NutpieDraws(NamedTuple):
    """Draws from a density.

    Attributes
    ----------
    values : dict of str to ndarray
        Draws of each parameter, of shape ``(chains, draws, *shape)``.
    statistics : dict of str to ndarray
        Statistics of nutpie of each draw, such as ``"diverging"``, ``"n_steps"`` and ``"energy"``, of shape
        ``(chains, draws)``.
    """

    values: dict[str, np.ndarray[Any, Any]]
    statistics: dict[str, np.ndarray[Any, Any]]


def nutpie_draws(
    logp: Callable[..., Any],
    shapes: Mapping[str, Sequence[int]],
    *,
    draws: int | None = None,
    tune: int | None = None,
    chains: int | None = None,
    cores: int | None = None,
    seed: int | None = None,
    **settings: Any,
) -> NutpieDraws:
    """Draw from a density with nutpie's sampler and return the draws after tuning as arrays.

    ``nutpie.sample`` draws the same from the model that `nutpie` returns. This function needs only nutpie's compiled
    code: ``import nutpie`` takes 2.2 s of processor time, most of it for ArviZ, in which ``nutpie.sample`` returns the
    draws, and this function loads the compiled code in 0.02 s.

    Parameters
    ----------
    logp, shapes
        See `nutpie`.
    draws, tune : int, optional
        Numbers of draws and of steps of tuning in each chain, by default those of nutpie.
    chains : int, optional
        Number of chains, by default that of nutpie.
    cores : int, optional
        Number of chains that run at the same time, by default the number of processors.
    seed : int, optional
        Seed of the random numbers of nutpie. A seed gives the same draws in every run.
    **settings
        Other settings of nutpie, such as ``target_accept`` and ``maxdepth``.

    Returns
    -------
    NutpieDraws
        The draws and their statistics. An evaluation that is nan, infinite or fails ends the trajectory, as a
        divergence.

    Raises
    ------
    ImportError
        If nutpie is not installed.
    TypeError
        If a number of draws, chains or cores is no int, nutpie has no such setting, or `logp` or `shapes` do not
        fit, as for `nutpie`.
    ValueError
        If a number of draws, chains or cores is less than 1, or chains can start at none of 100 random points.
    """
    core = _compiled_core()
    dims, own = nutpie_parts(logp, shapes)
    given = {"draws": draws, "tune": tune, "chains": chains}
    counts = {name: optional_whole_number(_OWNER, name, value) for name, value in given.items()}
    chosen = core.PyNutsSettings.Diag(seed)
    for name, count in counts.items():
        if count is not None:
            setattr(chosen, f"num_{name}", count)
    for name, value in settings.items():
        try:
            setattr(chosen, name, value)
        except AttributeError:
            raise TypeError(f"{_OWNER}: nutpie has no setting {name!r}") from None
    cores = optional_whole_number(_OWNER, "cores", cores) or min(chosen.num_chains, os.cpu_count() or 1)
    sampler = own.sampler(core, dims, chosen, cores, core.ProgressType.none(), core.PyStorage.arrow())
    try:
        sampler.wait(None)
    except BaseException:
        sampler.abort()
        raise
    return _as_arrays(own.shapes, *sampler.take_results().get_arrow_trace())


def _compiled_core() -> Any:
    """Return nutpie's compiled code, loaded without nutpie's package; a later ``import nutpie`` finds it."""
    with _loading:
        found = sys.modules.get(_CORE)
        if found is not None:
            return found
        package = find_spec("nutpie")
        spec = package and PathFinder.find_spec(_CORE, package.submodule_search_locations)
        if spec is None or spec.loader is None:
            return imported("nutpie", "nutpie_draws")._lib  # raises if it is not installed
        core = sys.modules[_CORE] = module_from_spec(spec)
        try:
            spec.loader.exec_module(core)
        except BaseException:
            del sys.modules[_CORE]
            raise
        return core


def _as_arrays(
    shapes: Mapping[str, tuple[int, ...]], values: Sequence[Any], statistics: Sequence[Any]
) -> NutpieDraws:
    """Return what the chains have drawn after tuning, from Arrow's tables: one for each chain."""
    from arro3.core import DataType, list_flatten  # nutpie needs it, too

    kept = [~np.asarray(table.column("tuning").to_numpy(), bool) for table in statistics]

    def stacked(tables: Sequence[Any], name: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        chains = []
        for table, rows in zip(tables, kept, strict=True):
            column = table.column(name)
            flat = list_flatten(column) if DataType.is_nested(column.type) else column
            chains.append(np.asarray(flat.to_numpy()).reshape(len(rows), *shape)[rows])
        return np.stack(chains)

    fields = [statistics[0].schema.field(name) for name in statistics[0].column_names]
    scalars = [f.name for f in fields if f.name not in _COUNTERS and not DataType.is_nested(f.type)]
    return NutpieDraws(
        {name: stacked(values, name, shape) for name, shape in shapes.items()},
        {name: stacked(statistics, name, ()) for name in scalars},
    )
