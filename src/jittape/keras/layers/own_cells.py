"""Cells of recurrent layers that the user defines, and cells one above the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jittape.core.user_calls import as_int
from jittape.keras.layers.layer import Layer
from jittape.primitives.shape.creation import zeros
from jittape.recording.nested import flatten

__all__ = ["StackedRNNCells", "initial_states", "is_own_cell", "of_structure", "sizes_of"]


def is_own_cell(cell: Any) -> bool:
    """Return whether an object can be the cell of an `RNN`: a layer with `state_size` and ``call(inputs, states)``."""
    return isinstance(cell, Layer) and hasattr(cell, "state_size")


def sizes_of(state_size: Any) -> list[int]:
    """Return the lengths of all states of a cell."""
    if isinstance(state_size, (list, tuple)):
        return [size for part in state_size for size in sizes_of(part)]
    return [as_int("state_size", state_size)]


def of_structure(state_size: Any, states: list[Any]) -> list[Any]:
    """Return states in the structure of `state_size`; the states of the whole are a list."""
    if not isinstance(state_size, (list, tuple)):
        return states
    found, rest = [], list(states)
    for part in state_size:
        count = len(sizes_of(part))
        taken, rest = rest[:count], rest[count:]
        found.append(of_structure(part, taken) if isinstance(part, (list, tuple)) else taken[0])
    return found


def initial_states(cell: Any, batch_size: Any, dtype: Any) -> list[Any]:
    """Return the states before the first step: what the cell's ``get_initial_state(batch_size=)`` gives, or zeros.

    The states are flat.
    """
    if hasattr(cell, "get_initial_state"):
        return list(flatten(cell.get_initial_state(batch_size=batch_size))[0])
    return [zeros([batch_size, size], dtype) for size in sizes_of(cell.state_size)]


class StackedRNNCells(Layer):
    """Cells one above the other: each takes the output of the one below.

    Parameters
    ----------
    cells : sequence of cells
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If there are no cells, or one is no cell.

    Examples
    --------
    >>> cells = [jt.keras.layers.LSTMCell(3), jt.keras.layers.GRUCell(2)]
    >>> layer = jt.keras.layers.RNN(jt.keras.layers.StackedRNNCells(cells))
    >>> layer(jt.ones([4, 5, 6])).shape
    (4, 2)
    """

    def __init__(self, cells: Sequence[Any], **options: Any) -> None:
        super().__init__(**options)
        if not cells or not all(is_own_cell(cell) for cell in cells):
            raise ValueError(
                f"[StackedRNNCells] cells must be a list of cells such as LSTMCell(3), got {cells!r}"
            )
        self.cells = list(cells)

    @property
    def state_size(self) -> list[Any]:
        """Lengths of the states of each cell."""
        return [_plain(cell.state_size) for cell in self.cells]

    @property
    def output_size(self) -> int:
        """Length of the output of the last cell."""
        return _output_size(self.cells[-1])

    def get_initial_state(self, batch_size: int) -> list[Any]:
        """Return the states of each cell before the first step."""
        return [initial_states(cell, batch_size, self.dtype) for cell in self.cells]

    def build(self, input_shape: Any) -> None:
        """Create the weights of all cells for inputs of this shape."""
        for cell in self.cells:
            if not cell.built:
                cell.build(input_shape)
            input_shape = (input_shape[0], _output_size(cell))

    def call(self, inputs: Any, states: Any, training: bool | None = None) -> tuple[Any, list[Any]]:
        """Return the output of the last cell and the next states of all cells."""
        following = []
        for cell, state in zip(self.cells, states, strict=True):
            given = list(state) if isinstance(state, (list, tuple)) else [state]
            inputs, after = cell(inputs, given)
            found = list(after) if isinstance(after, (list, tuple)) else [after]
            following.append(found if isinstance(state, (list, tuple)) else found[0])
        return inputs, following


def _output_size(cell: Any) -> int:
    """Return the length of the output of a cell, by default that of its first state."""
    size: int = getattr(cell, "output_size", None) or sizes_of(cell.state_size)[0]
    return size


def _plain(state_size: Any) -> Any:
    """Return the size of a single state as a number."""
    sizes = sizes_of(state_size)
    return sizes[0] if len(sizes) == 1 else sizes
