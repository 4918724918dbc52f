"""Blocks of distributed data: those of Dask's arrays, dataframes and bags, as futures."""

from __future__ import annotations

from typing import Any

import optree

from jittape.interop.optional_library import imported

__all__ = ["BagBlock", "block_futures", "is_divided"]


class BagBlock(list[Any]):
    """A partition of a bag: a list of blocks, whose values are added in this order."""


def block_futures(data: Any, client: Any) -> list[Any]:
    """Return a future for each block of `data`; it holds the block on a worker.

    Dask recomputes the blocks of a lost worker from the futures.

    Parameters
    ----------
    data : dask.array.Array, dask.dataframe.DataFrame, dask.bag.Bag, or a nested structure of arrays
        Arrays are divided along their first axis only.
    client : distributed.Client
        Client of the cluster.

    Raises
    ------
    TypeError
        If something else is among the data.
    ValueError
        If there are no blocks, or arrays are divided differently.
    """
    dask = imported("dask", "dask", "dask[distributed]")
    if _is_of(data, "dask.bag"):
        return list(client.compute([dask.delayed(BagBlock)(part) for part in data.to_delayed()]))
    leaves, structure = optree.tree_flatten(data)
    columns = [_pieces(leaf) for leaf in leaves]
    if not columns or not columns[0]:
        raise ValueError(
            "[dask] the data have no blocks: give a dask array, dataframe or bag, or a structure of arrays"
        )
    _check_division(leaves, columns)
    blocks = zip(*columns, strict=True)
    return list(
        client.compute([dask.delayed(optree.tree_unflatten)(structure, list(block)) for block in blocks])
    )


def is_divided(value: Any) -> bool:
    """Return whether a value is an array, a dataframe or a bag of Dask."""
    return hasattr(value, "dask")


def _is_of(value: Any, module: str) -> bool:
    return type(value).__module__.startswith(module) and hasattr(value, "to_delayed")


def _pieces(leaf: Any) -> list[Any]:
    """Return the blocks of an array or a dataframe, as delayed values."""
    if _is_of(leaf, "dask.array"):
        if leaf.ndim == 0:
            raise ValueError(
                "[dask] an array of the data has no axis to divide: pass scalars as further arguments"
            )
        whole = leaf.rechunk(dict.fromkeys(range(1, leaf.ndim), -1))
        return list(whole.to_delayed().ravel())
    if _is_of(leaf, "dask.dataframe") or _is_of(leaf, "dask_expr"):
        return list(leaf.to_delayed())
    raise TypeError(
        f"[dask] data must be dask arrays, dataframes or bags, got {type(leaf).__name__}: use "
        "dask.array.from_array(x, chunks=...), or pass it as a further argument, which is sent to every block"
    )


def _check_division(leaves: list[Any], columns: list[list[Any]]) -> None:
    """Raise if arrays are divided into different blocks."""
    chunks = [leaf.chunks[0] if hasattr(leaf, "chunks") else None for leaf in leaves]
    for leaf_chunks, column in zip(chunks, columns, strict=True):
        known = leaf_chunks is not None and chunks[0] is not None
        # The lengths of filtered arrays are unknown, nan, and nan differs from itself.
        same = str(leaf_chunks) == str(chunks[0]) if known else len(column) == len(columns[0])
        if not same:
            raise ValueError(
                f"[dask] the arrays of the data are divided differently along their first axis: {chunks[0]} and "
                f"{leaf_chunks}; use x.rechunk"
            )
