"""Cells of recurrent layers: one step along a sequence.

A step has two parts. `project` multiplies the inputs by the kernel; a recurrent layer does this for the whole sequence
in one matrix product. `step` adds the part of the state.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jittape.core.argument_checks import BELOW_ONE, number
from jittape.core.user_calls import as_int
from jittape.keras import initializers
from jittape.keras.activations import activation_of, linear
from jittape.keras.layers.layer import Layer
from jittape.keras.layers.noise import drop, generator_of
from jittape.keras.layers.weight_options import weight_options, with_options
from jittape.keras.saving.object_configs import serialize_keras_object
from jittape.primitives.elementwise.arithmetic import add, multiply, subtract
from jittape.primitives.linalg.matmul import matmul
from jittape.primitives.shape.creation import zeros
from jittape.primitives.shape.joining import split

__all__ = ["GRUCell", "LSTMCell", "RecurrentCell", "SimpleRNNCell", "divided"]


@with_options(kernel="_kernel", recurrent="_recurrent", bias="_bias")
class RecurrentCell(Layer):
    """Weights and arguments that cells share.

    Attributes
    ----------
    gates : int
        Number of vectors of length `units` that a step computes.
    states : int
        Number of vectors of length `units` that a step takes and returns; the first is the output.
    """

    gates = 1
    states = 1

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        owner = type(self).__name__
        self.dropout = number(owner, "dropout", dropout, BELOW_ONE)
        self.recurrent_dropout = number(owner, "recurrent_dropout", recurrent_dropout, BELOW_ONE)
        self.seed_generator = generator_of(seed)
        self.units = as_int("units", units)
        if self.units < 1:
            raise ValueError(f"[{owner}] units must be positive, got {units}")
        self.activation = activation_of(owner, activation) or linear
        self.recurrent_activation = activation_of(owner, recurrent_activation) or linear
        self.use_bias = use_bias
        self.kernel: Any = None
        self.recurrent_kernel: Any = None
        self.bias: Any = None
        self._kernel = weight_options(kernel_initializer, kernel_regularizer, kernel_constraint)
        self._recurrent = weight_options(recurrent_initializer, recurrent_regularizer, recurrent_constraint)
        self._bias = weight_options(bias_initializer, bias_regularizer, bias_constraint)

    @property
    def state_size(self) -> int | list[int]:
        """Length of the state, or of each state."""
        return self.units if self.states == 1 else [self.units] * self.states

    @property
    def output_size(self) -> int:
        """Length of the output."""
        return self.units

    def get_initial_state(self, batch_size: int) -> list[Any]:
        """Return states of zeros for a batch, in the dtype of the cell."""
        return [zeros([batch_size, self.units], self.dtype) for _ in range(self.states)]

    def build(self, input_shape: Any) -> None:
        """Create the weights for inputs of this shape."""
        columns = self.gates * self.units
        self.kernel = self._kernel.add_to(self, (int(input_shape[-1]), columns), "kernel")
        self.recurrent_kernel = self._recurrent.add_to(self, (self.units, columns), "recurrent_kernel")
        if self.use_bias:
            self.bias = self._bias.add_to(self, self._bias_shape(), "bias")

    def _bias_shape(self) -> tuple[int, ...]:
        return (self.gates * self.units,)

    def project(self, inputs: Any) -> Any:
        """Return the part of the gates that does not depend on the state."""
        product = matmul(inputs, self.kernel)
        return product if self.bias is None else add(product, self.bias)

    def step(self, projected: Any, states: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the next states, given the projected inputs."""
        raise NotImplementedError(f"{type(self).__name__} must define step(projected, states)")

    def call(self, inputs: Any, states: Any, training: bool | None = None) -> tuple[Any, Any]:
        """Return the output and the next states of one step; in training, with dropout by masks of this call.

        Next states are a list if `states` is a list or tuple, and one tensor if it is one.
        """
        is_list = isinstance(states, (list, tuple))
        given = tuple(states) if is_list else (states,)
        if len(given) != self.states:
            raise ValueError(f"layer {self.name!r} takes {self.states} states, got {len(given)}")
        if training and self.dropout:
            inputs = drop(self.seed_generator, inputs, self.dropout)
        if training and self.recurrent_dropout:
            given = (drop(self.seed_generator, self._as_input(given[0]), self.recurrent_dropout), *given[1:])
        following = self.step(self.project(inputs), given)
        return following[0], list(following) if is_list else following[0]


class SimpleRNNCell(RecurrentCell):
    """One step of `SimpleRNN`: ``activation(x @ kernel + h @ recurrent_kernel + bias)``.

    Parameters
    ----------
    units : int
        Length of the state.
    other arguments : those of `SimpleRNN`
    **options : those of `Layer`

    Raises
    ------
    ValueError
        If `units` is not positive, or the number of states is wrong.

    Examples
    --------
    >>> cell = jt.keras.layers.SimpleRNNCell(3)
    >>> output, states = cell(jt.ones([2, 4]), [jt.zeros([2, 3])])
    >>> output.shape, len(states)
    ((2, 3), 1)
    """

    _left_out = "recurrent_activation"

    def __init__(self, units: int, activation: Any = "tanh", use_bias: bool = True, **options: Any) -> None:
        if "recurrent_activation" in options:
            raise TypeError(
                "[SimpleRNNCell] there is no argument 'recurrent_activation': the cell has no gates"
            )
        super().__init__(units, activation, use_bias=use_bias, **options)

    def step(self, projected: Any, states: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the next state."""
        return (self.activation(add(projected, matmul(states[0], self.recurrent_kernel))),)


class _Forgetful(NamedTuple):
    """An initializer of the bias of `LSTMCell` that gives the gate of forgetting ones."""

    other: Any
    units: int

    def __call__(self, shape: Any, dtype: Any) -> Any:
        """Return the initial values."""
        value = np.array(initializers.get(self.other)(shape, dtype))
        value[self.units : 2 * self.units] = 1.0
        return value


class LSTMCell(RecurrentCell):
    """One step of `LSTM` (Hochreiter and Schmidhuber 1997; Gers et al. 2000).

    The gates are those of input, forgetting, the candidate and output, in this order.

    Parameters
    ----------
    units : int
    activation, recurrent_activation : str or callable
    use_bias : bool, default True
    unit_forget_bias : bool, default True
        Whether the bias of the gate of forgetting begins with ones.
    **options
        `kernel_initializer`, `recurrent_initializer`,
        `bias_initializer`, `kernel_regularizer`, `recurrent_regularizer`, `bias_regularizer`, `dropout`,
        `recurrent_dropout`, `seed`. A cell that is called by itself draws masks of dropout at each call; a layer draws
        them once for all steps.

    Raises
    ------
    ValueError
        If `units` is not positive, or the number of states is wrong.

    Examples
    --------
    >>> cell = jt.keras.layers.LSTMCell(3)
    >>> output, states = cell(jt.ones([2, 4]), [jt.zeros([2, 3]), jt.zeros([2, 3])])
    >>> output.shape, len(states)
    ((2, 3), 2)
    """

    gates = 4
    states = 2

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        *,
        unit_forget_bias: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(units, activation, recurrent_activation, use_bias, **options)
        self.unit_forget_bias = unit_forget_bias
        if unit_forget_bias:
            self._bias = self._bias._replace(initializer=_Forgetful(self._bias.initializer, self.units))

    def _config_of(self, home: type) -> dict[str, Any]:
        config = super()._config_of(home)
        given = getattr(self._bias.initializer, "other", self._bias.initializer)
        return config | {"bias_initializer": serialize_keras_object(given)}

    def step(self, projected: Any, states: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the next output and the next cell state."""
        hidden, cell = states
        gates = add(projected, matmul(hidden, self.recurrent_kernel))
        enter, forget, candidate, leave = split(gates, 4, -1)
        gate = self.recurrent_activation
        cell = add(multiply(gate(forget), cell), multiply(gate(enter), self.activation(candidate)))
        return multiply(gate(leave), self.activation(cell)), cell


class GRUCell(RecurrentCell):
    """One step of `GRU` (Cho et al., EMNLP 2014).

    The gates are those of update, reset and the candidate, in this order.

    Parameters
    ----------
    units : int
    activation, recurrent_activation : str or callable
    use_bias : bool, default True
    reset_after : bool, default True
        Whether the reset gate is applied after the product with the state. The bias then has two rows, for the inputs
        and for the state.
    **options
        As for `LSTMCell`.

    Raises
    ------
    ValueError
        If `units` is not positive, or the number of states is wrong.

    Examples
    --------
    >>> cell = jt.keras.layers.GRUCell(3)
    >>> output, states = cell(jt.ones([2, 4]), [jt.zeros([2, 3])])
    >>> output.shape, len(states)
    ((2, 3), 1)
    """

    gates = 3

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        *,
        reset_after: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(units, activation, recurrent_activation, use_bias, **options)
        self.reset_after = reset_after

    def _bias_shape(self) -> tuple[int, ...]:
        return (2, 3 * self.units) if self.reset_after else (3 * self.units,)

    def project(self, inputs: Any) -> Any:
        """Return the part of the gates that does not depend on the state."""
        product = matmul(inputs, self.kernel)
        if self.bias is None:
            return product
        return add(product, self.bias[0] if self.reset_after else self.bias)

    def step(self, projected: Any, states: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the next state."""
        (hidden,) = states
        update, reset, candidate = split(projected, 3, -1)
        gate = self.recurrent_activation
        if self.reset_after:
            product = matmul(hidden, self.recurrent_kernel)
            product = product if self.bias is None else add(product, self.bias[1])
            of_update, of_reset, of_candidate = split(product, 3, -1)
            update, reset = gate(add(update, of_update)), gate(add(reset, of_reset))
            candidate = self.activation(add(candidate, multiply(reset, of_candidate)))
        else:
            kernel = self.recurrent_kernel
            of_update, of_reset = split(matmul(hidden, kernel[:, : 2 * self.units]), 2, -1)
            update, reset = gate(add(update, of_update)), gate(add(reset, of_reset))
            candidate = self.activation(
                add(candidate, matmul(multiply(reset, hidden), kernel[:, 2 * self.units :]))
            )
        return (add(candidate, multiply(update, subtract(hidden, candidate))),)


_OPTIONS = (
    "return_sequences return_state go_backwards stateful unroll zero_output_for_mask seed dropout recurrent_dropout "
    "name trainable activity_regularizer input_shape"
)
"""Arguments of `RNN`; a layer that makes its own cell gives the others to the cell."""


def divided(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of the cell and those of `RNN`."""
    options.pop("use_cudnn", None)
    own = {name: options.pop(name) for name in _OPTIONS.split() if name in options}
    for name in ("dtype", "trainable"):
        if name in options:
            own[name] = options[name]
    return options, own
