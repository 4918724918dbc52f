"""Recurrent layers: a cell along the time of sequences, as one compiled loop."""

from __future__ import annotations

from collections import UserList
from typing import Any, ClassVar

import numpy as np

from jittape.core.argument_checks import BELOW_ONE, number
from jittape.core.dtypes import bool_
from jittape.core.name_scopes import snake_case
from jittape.execution import init_scope
from jittape.flow.scans import foldl, scan
from jittape.keras.layers.layer import Layer
from jittape.keras.layers.noise import drop, generator_of
from jittape.keras.layers.own_cells import (
    StackedRNNCells,
    initial_states,
    is_own_cell,
    of_structure,
    sizes_of,
)
from jittape.keras.layers.recurrent_cells import GRUCell, LSTMCell, RecurrentCell, SimpleRNNCell, divided
from jittape.keras.layers.symbolic_outputs import runs_on_examples
from jittape.keras.layers.weight_options import with_attributes_of
from jittape.keras.saving.serializable import arguments_known
from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.elementwise.comparison import where
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.primitives.shape.creation import ones, zeros, zeros_like
from jittape.primitives.shape.reordering import reverse
from jittape.primitives.shape.reshaping import expand_dims, transpose
from jittape.recording.nested import flatten
from jittape.recording.variable import Variable

__all__ = ["GRU", "LSTM", "RNN", "SimpleRNN"]


class RNN(Layer):
    """A cell along the second dimension of sequences.

    Parameters
    ----------
    cell : SimpleRNNCell, LSTMCell or GRUCell
        Or a layer of your own with the attribute `state_size` and ``call(inputs, states)``, which returns the output
        and the next states; or a list of cells, one above the other.
    return_sequences : bool, default False
        Return the outputs of all steps instead of the last one.
    return_state : bool, default False
        Return the last states too.
    go_backwards : bool, default False
        Begin with the last step; the outputs are in the order in which they are computed.
    stateful : bool, default False
        Begin each call with the last states of the call before, for sequences that are given in parts.
        `reset_states` begins again. All batches have the size of the first one.
    unroll : bool, optional
        Ignored: the steps are a compiled loop.
    zero_output_for_mask : bool, default False
        Return 0 for steps that the mask excludes instead of the output before. Without `return_sequences`, this
        applies to the last step.
    dropout, recurrent_dropout : float, default 0
        Fractions of the inputs and of the state that are dropped in training, by default those of the cell; all steps
        have the same masks.
    seed : int, optional
        Seed of the masks of dropout; see `Dropout`.

    Examples
    --------
    >>> layer = jt.keras.layers.RNN(jt.keras.layers.LSTMCell(3), return_sequences=True)
    >>> layer(jt.ones([2, 5, 4])).shape
    (2, 5, 3)
    """

    takes_floats = True
    supports_masking = True

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        owner = type(self).__name__
        cell = StackedRNNCells(cell) if isinstance(cell, (list, tuple)) else cell
        if not is_own_cell(cell):
            raise TypeError(
                f"[{owner}] cell must be a SimpleRNNCell, LSTMCell or GRUCell, a list of cells, or a layer with "
                f"state_size and call(inputs, states), got {cell!r}"
            )
        self.cell = cell
        self._is_own = not isinstance(cell, RecurrentCell)
        if self._is_own and (dropout or recurrent_dropout):
            raise ValueError(f"[{owner}] dropout of a cell of your own belongs in its call")
        self.return_sequences, self.return_state = bool(return_sequences), bool(return_state)
        self.go_backwards, self.stateful = bool(go_backwards), bool(stateful)
        self.zero_output_for_mask = bool(zero_output_for_mask)
        self.seed_generator = generator_of(seed) if self._is_own or seed is not None else cell.seed_generator
        self._own_units: int | None = None
        self.last_states = UserList[Variable]()  # no list, as the states are no weights
        rates = (0.0, 0.0) if self._is_own else (cell.dropout, cell.recurrent_dropout)
        self.dropout = number(owner, "dropout", dropout, BELOW_ONE) or rates[0]
        self.recurrent_dropout = number(owner, "recurrent_dropout", recurrent_dropout, BELOW_ONE) or rates[1]

    def _config_of(self, home: type) -> dict[str, Any]:
        """Return the arguments of `RNN`, and those of the cell in place of a cell that the layer has made itself."""
        config = super()._config_of(home)
        for name in ("dropout", "recurrent_dropout", "seed"):
            if config.get(name) in (getattr(self.cell, name, None), 0.0):  # Keras's RNN has no such arguments
                config.pop(name, None)
        if "units" not in arguments_known(home):
            return config
        of_cell = self.cell.get_config()
        del config["cell"]
        return config | {name: of_cell[name] for name in of_cell if name not in self._base_arguments.split()}

    @property
    def units(self) -> int:
        """Length of the output of a step."""
        if self._own_units is not None:
            return self._own_units
        size = getattr(self.cell, "output_size", None)
        return self._sizes[0] if size is None else sizes_of(size)[0]

    @property
    def states(self) -> list[Variable] | None:
        """The states that a layer with ``stateful=True`` keeps between calls; None for other layers."""
        return list(self.last_states) if self.stateful else None

    @property
    def _sizes(self) -> list[int]:
        """Lengths of the states of the cell."""
        return sizes_of(self.cell.state_size)

    def build(self, input_shape: Any) -> None:
        """Create the weights of the cell for sequences of this shape."""
        self._require_sequences(input_shape)
        if not self.cell.built:
            self.cell.build((input_shape[0], input_shape[2]))

    def _require_sequences(self, shape: Any) -> None:
        if len(shape) != 3:
            raise ValueError(
                f"layer {self.name!r} takes inputs of shape (batch, time, features), got shape {tuple(shape)}"
            )

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Return the mask of the outputs of all steps; None for the last output and for states."""
        mask = previous_mask[0] if isinstance(previous_mask, (list, tuple)) else previous_mask
        outputs = mask if self.return_sequences else None
        return [outputs, *[None] * len(self._sizes)] if self.return_state else outputs

    def call(
        self, inputs: Any, initial_state: Any = None, mask: Any = None, training: bool | None = None
    ) -> Any:
        """Return the last output, or what `return_sequences` and `return_state` ask for.

        Parameters
        ----------
        inputs : tensor of shape (batch, time, features)
        initial_state : tensor or list of tensors, optional
            Zeros by default.
        mask : tensor of bool, optional
            Of shape (batch, time), True for the steps that count. Other steps keep the state and repeat the last
            output, which is 0 before the first step.
        training : bool, optional
            Whether to drop parts of the inputs and of the state.
        """
        self._require_sequences(inputs.shape)
        batch, time, _ = inputs.shape
        if not time:
            raise ValueError(
                f"layer {self.name!r} takes sequences of at least one step, got shape {inputs.shape}"
            )
        if not self._is_own and inputs.shape[-1] != self.cell.kernel.shape[0]:
            raise ValueError(
                f"layer {self.name!r} takes sequences with {self.cell.kernel.shape[0]} features, got shape "
                f"{tuple(inputs.shape)}"
            )
        if training and self.dropout:
            inputs = drop(self.seed_generator, inputs, self.dropout, (batch, 1, inputs.shape[-1]))
        projected = transpose(inputs if self._is_own else self.cell.project(inputs), (1, 0, 2))
        if self.go_backwards:
            projected = reverse(projected, [0])
        states = self._initial(initial_state, batch, projected.dtype)
        kept = None
        if training and self.recurrent_dropout:
            kept = drop(
                self.seed_generator, ones([batch, self.units], projected.dtype), self.recurrent_dropout
            )

        def step(states: tuple[Any, ...], x: Any) -> tuple[Any, ...]:
            if kept is not None:
                states = (multiply(states[0], kept), *states[1:])
            return self.cell.step(x, states)

        if self._is_own or mask is not None:
            if self._is_own and (self._own_units is None or not self.cell.built):
                self._own_units = self._own_step(states, projected[0])[0].shape[-1]  # and creates the weights
            seen = None if mask is None else self._seen(mask, batch, time)
            result, last = self._apart(self._own_step if self._is_own else step, projected, states, seen)
        elif self.return_sequences:
            outputs, *others = scan(step, projected, states)
            result, last = transpose(outputs, (1, 0, 2)), [s[-1] for s in (outputs, *others)]
        else:
            last = list(foldl(step, projected, states))
            result = last[0]
        for variable, state in zip(() if runs_on_examples() else self.last_states, last, strict=False):
            variable.assign(state)
        return (result, *of_structure(self.cell.state_size, last)) if self.return_state else result

    def reset_states(self) -> None:
        """Begin the next call of a layer with ``stateful=True`` with zeros."""
        for variable in self.last_states:
            variable.assign(zeros_like(variable))

    reset_state = reset_states

    def _seen(self, mask: Any, batch: int, time: int) -> Any:
        """Return a mask in the order of the steps, with a dimension for the state."""
        mask = cast(mask, bool_)
        if tuple(mask.shape) != (batch, time):
            raise ValueError(
                f"layer {self.name!r} takes a mask of shape {(batch, time)}, got {tuple(mask.shape)}"
            )
        seen = expand_dims(transpose(mask), -1)
        return reverse(seen, [0]) if self.go_backwards else seen

    def _own_step(self, states: tuple[Any, ...], x: Any) -> tuple[Any, ...]:
        """Return the output and the next states of a cell that the user defined."""
        output, following = self.cell(x, of_structure(self.cell.state_size, list(states)))
        return (output, *flatten(following)[0])

    def _apart(self, step: Any, projected: Any, states: tuple[Any, ...], seen: Any) -> tuple[Any, list[Any]]:
        """Return the output, or all of them, and the last states, where the output is no state.

        If `seen` is given, steps at which it is False do not count.
        """

        def step_apart(before: tuple[Any, ...], row: Any) -> tuple[Any, ...]:
            x, counts = (row, None) if seen is None else row
            found = step(before[1:], x)
            after = found if self._is_own else (found[0], *found)
            if counts is None:
                return tuple(after)
            return tuple([where(counts, new, old) for new, old in zip(after, before, strict=True)])

        output = zeros([states[0].shape[0], self.units], states[0].dtype)
        first, rows = (output, *states), projected if seen is None else (projected, seen)
        if self.return_sequences:
            outputs, *others = scan(step_apart, rows, first)
            if self.zero_output_for_mask and seen is not None:
                outputs = where(seen, outputs, 0)
            return transpose(outputs, (1, 0, 2)), [s[-1] for s in others]
        result, *last = foldl(step_apart, rows, first)
        if self.zero_output_for_mask and seen is not None:
            result = where(seen[-1], result, 0)
        return result, last

    def _remembered(self, batch: int, dtype: Any) -> tuple[Any, ...]:
        """Return the states of the call before; the first call makes Variables for them."""
        if not self.last_states:
            with init_scope():  # the first call may be that of a function that is traced
                self.last_states.extend(
                    [
                        Variable(np.zeros((batch, size), dtype), trainable=False, name=f"{self.name}/state")
                        for size in self._sizes
                    ]
                )
        if self.last_states[0].shape[0] != batch:
            raise ValueError(
                f"layer {self.name!r} is stateful and keeps states of a batch of {self.last_states[0].shape[0]}, got a "
                f"batch of {batch}; use batches of one size, as of Dataset.batch(size, drop_remainder=True)"
            )
        return tuple([variable.value() for variable in self.last_states])

    def get_initial_state(self, batch_size: int) -> list[Any]:
        """Return the states before the first step: zeros, or what an own cell's ``get_initial_state`` gives.

        Examples
        --------
        >>> [state.shape for state in jt.keras.layers.LSTM(3).get_initial_state(2)]
        [(2, 3), (2, 3)]
        """
        return of_structure(self.cell.state_size, initial_states(self.cell, batch_size, self.dtype))

    def _initial(self, given: Any, batch: int, dtype: Any) -> tuple[Any, ...]:
        if self.stateful and not runs_on_examples():
            remembered = self._remembered(batch, dtype)
            if given is None:
                return remembered
        states = initial_states(self.cell, batch, dtype) if given is None else flatten(given)[0]
        if len(states) != len(self._sizes):
            raise ValueError(f"layer {self.name!r} takes {len(self._sizes)} states, got {len(states)}")
        found = tuple([cast(s, dtype) if given is None else self._as_input(s) for s in states])
        for state, size in zip(found, self._sizes, strict=True):
            if tuple(state.shape) != (batch, size):
                raise ValueError(
                    f"layer {self.name!r} takes initial_state of shape {(batch, size)}, got {tuple(state.shape)}"
                )
        return found


_OF_CELLS = (
    "activation use_bias kernel_initializer recurrent_initializer bias_initializer kernel_regularizer "
    "recurrent_regularizer bias_regularizer kernel_constraint recurrent_constraint bias_constraint"
)
"""Attributes of cells that their layers show, too."""


@with_attributes_of("cell", _OF_CELLS)
class SimpleRNN(RNN):
    """A recurrent layer with one product for each step.

    Parameters
    ----------
    units : int
        Length of the output of a step.
    activation : str or callable, default "tanh"
    **options
        Those of `RNN` and of `SimpleRNNCell`: `use_bias`, `kernel_initializer`, `recurrent_initializer`,
        `bias_initializer`, `kernel_regularizer`, `recurrent_regularizer`, `bias_regularizer`.

    Raises
    ------
    ValueError
        If `units` is not positive; at the call, if the input is not a sequence of the features that the layer was
        built for.

    Examples
    --------
    >>> jt.keras.layers.SimpleRNN(3)(jt.ones([2, 5, 4])).shape
    (2, 3)
    """

    def __init__(self, units: int, activation: Any = "tanh", **options: Any) -> None:
        of_cell, own = divided(options)
        super().__init__(SimpleRNNCell(units, activation, name="simple_rnn_cell", **of_cell), **own)


@with_attributes_of("cell", f"{_OF_CELLS} recurrent_activation")
class _Gated(RNN):
    """A recurrent layer that makes its own cell with gates."""

    cell_type: ClassVar[type[RecurrentCell]]

    def __init__(
        self, units: int, activation: Any = "tanh", recurrent_activation: Any = "sigmoid", **options: Any
    ) -> None:
        of_cell, own = divided(options)
        cell = self.cell_type(
            units, activation, recurrent_activation, name=snake_case(self.cell_type), **of_cell
        )
        super().__init__(cell, **own)


@with_attributes_of("cell", "unit_forget_bias")
class LSTM(_Gated):
    """A recurrent layer with long short-term memory.

    Parameters
    ----------
    units : int
        Length of the output of a step.
    activation : str or callable, default "tanh"
    recurrent_activation : str or callable, default "sigmoid"
    **options
        Those of `RNN` and of `LSTMCell`.

    Raises
    ------
    ValueError
        If `units` is not positive; at the call, if the input is not a sequence of the features that the layer was
        built for.

    Examples
    --------
    >>> layer = jt.keras.layers.LSTM(3, return_sequences=True, return_state=True)
    >>> [part.shape for part in layer(jt.ones([2, 5, 4]))]
    [(2, 5, 3), (2, 3), (2, 3)]
    """

    cell_type = LSTMCell


@with_attributes_of("cell", "reset_after")
class GRU(_Gated):
    """A recurrent layer with gated units.

    Parameters
    ----------
    units : int
        Length of the output of a step.
    activation : str or callable, default "tanh"
    recurrent_activation : str or callable, default "sigmoid"
    **options
        Those of `RNN` and of `GRUCell`.

    Raises
    ------
    ValueError
        If `units` is not positive; at the call, if the input is not a sequence of the features that the layer was
        built for.

    Examples
    --------
    >>> jt.keras.layers.GRU(3)(jt.ones([2, 5, 4])).shape
    (2, 3)
    """

    cell_type = GRUCell
