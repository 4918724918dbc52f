"""`Optimizer`: the base class of all optimizers.

Start at `Optimizer.apply_gradients`: it checks the arguments, creates missing state, and makes the updates. The updates
are recorded like other operations, so a step with its update runs as one executable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from jittape.autodiff.tape import GradientTape
from jittape.core.argument_checks import (
    POSITIVE,
    UNIT,
    flag,
    number,
    optional_number,
    optional_whole_number,
)
from jittape.core.name_scopes import default_name
from jittape.core.primitive import active
from jittape.optimizers.accumulation import accumulate, add_accumulator, keep_unless_due, states_of_updates
from jittape.optimizers.assignment_rollback import roll_back, snapshot
from jittape.optimizers.averages import AVERAGE, average
from jittape.optimizers.gradient_pairs import Pair, checked_pairs, checked_variables, clipped
from jittape.optimizers.options import Printed, unexpected_option
from jittape.optimizers.recorded_step import KeepsStep, recorded_step
from jittape.optimizers.schedules.rates import LearningRateSchedule, in_dtype
from jittape.optimizers.schedules.schedule_registry import deserialize, serialize
from jittape.optimizers.state import work_dtype
from jittape.primitives.elementwise.arithmetic import multiply
from jittape.primitives.elementwise.complex_numbers import cast
from jittape.recording.operators import Operators
from jittape.recording.variable import Variable

__all__ = ["Optimizer"]


class Optimizer(KeepsStep, Printed):
    """Base class of optimizers.

    A subclass creates its state in `build` and makes one update in `update_step`.

    Parameters
    ----------
    learning_rate : float, Variable, LearningRateSchedule or callable
        A function is called at each step, with the number of completed calls of `apply_gradients` if it takes an
        argument. This number is `iterations`, unless there are `gradient_accumulation_steps`.
    weight_decay : float, optional
        Before each update, a Variable is multiplied by ``1 - learning_rate * weight_decay`` (decoupled weight decay:
        Loshchilov and Hutter, ICLR 2019), unless `exclude_from_weight_decay` excludes it.
    clipnorm : float, optional
        Maximum Euclidean norm of each gradient.
    clipvalue : float, optional
        The elements of all gradients are clipped to ``[-clipvalue, clipvalue]``.
    global_clipnorm : float, optional
        Maximum norm of all gradients together. Only one of the three may be given.
    use_ema : bool, default False
        Keep an exponential moving average of each Variable, see `finalize_variable_values`.
    ema_momentum : float, default 0.99
        ``average = ema_momentum * average + (1 - ema_momentum) * variable``, from the value after the first step on.
    ema_overwrite_frequency : int, optional
        Number of steps after which the averages are assigned to the Variables.
    loss_scale_factor : float, optional
        Gradients are divided by this factor, with which `scale_loss` multiplies the loss: small gradients of a float16
        program then do not underflow.
    gradient_accumulation_steps : int, optional
        Number of steps whose gradients are averaged for one update.
    name : str, optional
        By default the name of the class in snake case: ``adam``, then ``adam_1``.

    Attributes
    ----------
    iterations : Variable
        Number of completed updates, int64.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong type or is out of range.

    Examples
    --------
    >>> class SignDescent(jt.optimizers.Optimizer):
    ...     def build(self, variables):
    ...         super().build(variables)
    ...
    ...     def update_step(self, gradient, variable, learning_rate):
    ...         variable.assign_sub(learning_rate * jt.sign(gradient))
    >>> w = jt.Variable([1.0, -2.0])
    >>> _ = SignDescent(0.5).apply_gradients([([10.0, -0.1], w)])
    >>> w.numpy()
    array([ 0.5, -1.5], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: Any,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **unknown: Any,
    ) -> None:
        owner = type(self).__name__
        if unknown:
            raise unexpected_option(owner, next(iter(unknown)))
        super().__init__(default_name(type(self)) if name is None else name, learning_rate, weight_decay)
        self.clipnorm = optional_number(owner, "clipnorm", clipnorm, POSITIVE)
        self.clipvalue = optional_number(owner, "clipvalue", clipvalue, POSITIVE)
        self.global_clipnorm = optional_number(owner, "global_clipnorm", global_clipnorm, POSITIVE)
        if sum(limit is not None for limit in (clipnorm, clipvalue, global_clipnorm)) > 1:
            raise ValueError(
                f"{owner}: only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set, got "
                f"{clipnorm}, {clipvalue} and {global_clipnorm}"
            )
        self.use_ema = flag(owner, "use_ema", use_ema)
        self.ema_momentum = number(owner, "ema_momentum", ema_momentum, UNIT)
        self.ema_overwrite_frequency = optional_whole_number(
            owner, "ema_overwrite_frequency", ema_overwrite_frequency
        )
        self.loss_scale_factor = optional_number(owner, "loss_scale_factor", loss_scale_factor, POSITIVE)
        self.gradient_accumulation_steps = optional_whole_number(
            owner, "gradient_accumulation_steps", gradient_accumulation_steps
        )
        self.step_values: Any = None

    def build(self, variables: Sequence[Variable]) -> None:
        """Create the state for `variables`.

        The first step calls this method, and a later step with new Variables calls it again, with the known ones first.
        A subclass calls ``super().build(variables)`` first and creates its state with `add_variable_from_reference` or
        `add_optimizer_variables`, which return existing state.

        Parameters
        ----------
        variables : sequence of Variable

        Raises
        ------
        TypeError
            If it contains other objects, or a Variable of ints or complex numbers.
        ValueError
            If a Variable occurs twice.
        """
        self._register(checked_variables(variables, "build"))
        for variable in self._known:
            if self.use_ema:
                self.add_variable_from_reference(variable, AVERAGE, variable.value)
            if self.gradient_accumulation_steps is not None:
                add_accumulator(self, variable)

    # ---- a step ------------------------------------------------------------------------------------------------------

    def scale_loss(self, loss: Any) -> Any:
        """Return `loss` times `loss_scale_factor`; take the gradient of the result.

        Examples
        --------
        >>> jt.optimizers.SGD(0.1, loss_scale_factor=1024.0).scale_loss(2.0).numpy().item()
        2048.0
        """
        return multiply(loss, 1.0 if self.loss_scale_factor is None else self.loss_scale_factor)

    def begin_step(self, learning_rate: Any) -> Any:
        """Compute values that all Variables of a step share; `update_step` reads them from ``self.step_values``."""

    def update_step(self, gradient: Any, variable: Variable, learning_rate: Any) -> None:
        """Assign the next values of `variable` and its state. Subclasses must define this method.

        Parameters
        ----------
        gradient : tensor
            Of the shape and dtype of `variable` (float32 for float16 and bfloat16), clipped.
        variable : Variable
        learning_rate : scalar tensor or number
            Of the same dtype.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define update_step(gradient, variable, learning_rate)"
        )

    def apply_gradients(self, grads_and_vars: Iterable[Pair], name: str | None = None) -> Variable:
        """Update every Variable with its gradient.

        Parameters
        ----------
        grads_and_vars : iterable of (gradient, Variable)
            Pairs whose gradient is None are skipped, with a warning.
        name : str, optional
            Ignored; for compatibility with TensorFlow.

        Returns
        -------
        Variable
            `iterations`.

        Raises
        ------
        ValueError
            If there is no gradient at all, a Variable occurs twice, or a gradient has another shape than its Variable.
            Nothing is changed in this case.
        TypeError
            If a pair is not a gradient and a Variable, or their dtypes do not match. Nothing is changed in this case.
        """
        recorded, gradients = self._recorded, None
        if (
            recorded is not None
            and active.recorder.traced_in is None
            and grads_and_vars.__class__ in (zip, list)
        ):
            grads_and_vars = list(grads_and_vars)
            gradients = recorded.gradients_of(grads_and_vars)
        if recorded is None or gradients is None:
            pairs, variables = checked_pairs(grads_and_vars)
            self._take_on(variables)
            recorded = vars(self)["_recorded"] = recorded_step(self, pairs)
            if recorded is None:
                return self._step_or_nothing(pairs)
            gradients = [g for g, _ in pairs]
        rate = self._learning_rate
        recorded.run(gradients, rate if rate.__class__ is Variable else self._rate_now())
        return self.iterations

    def _step_or_nothing(self, pairs: list[Pair]) -> Variable:
        """Make a step op by op; undo it if it raises."""
        before = snapshot([self.iterations, *self._known, *self._state.values()])
        try:
            self._step(pairs, self._rate_now())
        except BaseException:
            roll_back(before)
            raise
        return self.iterations

    def _step(self, pairs: list[Pair], rate: Any) -> None:
        pairs = [(in_dtype(g, work_dtype(v)), v) for g, v in pairs]
        if self.loss_scale_factor is not None:
            pairs = [(multiply(g, 1.0 / self.loss_scale_factor), v) for g, v in pairs]
        updates: Any = 1
        if self.gradient_accumulation_steps is None:
            self._update_all(pairs, rate)
        else:
            due, pairs = accumulate(self, pairs, self.gradient_accumulation_steps)
            before = [(v, v.value()) for v in (*self._known, *states_of_updates(self._state))]
            self._update_all(pairs, rate)
            keep_unless_due(due, before)
            updates = cast(due, self.iterations.dtype)
        if self.use_ema:  # also in a step that makes no update, as Keras does
            average(self, self._known, self.iterations, self.ema_momentum, self.ema_overwrite_frequency)
        for v, constraint in [(v, c) for _, v in pairs if (c := v.constraint) is not None]:
            v.assign(constraint(v))  # likewise, after the averages
        self.iterations.assign_add(updates)

    def _update_all(self, pairs: list[Pair], rate: Any) -> None:
        pairs = clipped(pairs, self.clipnorm, self.clipvalue, self.global_clipnorm)
        rates = {dtype: in_dtype(rate, dtype) for dtype in dict.fromkeys([g.aval.dtype for g, _ in pairs])}
        try:
            self.step_values = self.begin_step(rate)
            for gradient, variable in pairs:
                self._update(gradient, variable, rates[gradient.aval.dtype])
        finally:
            self.step_values = None

    def _take_on(self, variables: Iterable[Variable]) -> None:
        new = [v for v in variables if not self.knows(v)]
        if not new:
            return
        vars(self)["_recorded"] = None
        known, state = len(self._known), set(self._state)
        try:
            self.build([*self._known, *new])
            Optimizer.build(self, new)  # in case the subclass has not called it
        except BaseException:
            self._forget(known, state)
            raise

    def _update(self, gradient: Any, variable: Variable, rate: Any) -> None:
        self.decay(variable, rate, gradient.aval.dtype)
        self.update_step(gradient, variable, rate)

    def apply(self, grads: Iterable[Any], trainable_variables: Iterable[Variable] | None = None) -> None:
        """Update every Variable; as `apply_gradients`, with two lists.

        Parameters
        ----------
        grads : sequence of tensors
        trainable_variables : sequence of Variables, optional
            By default, those that the optimizer was built with.

        Raises
        ------
        ValueError
            If the lists have different lengths. Otherwise as `apply_gradients`.
        """
        variables = self._known if trainable_variables is None else list(trainable_variables)
        if trainable_variables is None and not variables:
            raise ValueError("apply without `trainable_variables` needs build(variables) to be called first")
        gradients = list(grads)
        if len(gradients) != len(variables):
            raise ValueError(f"apply was given {len(gradients)} gradients for {len(variables)} variables")
        self.apply_gradients(zip(gradients, variables, strict=True))

    def minimize(
        self,
        loss: Any,
        var_list: Sequence[Variable] | Callable[[], Sequence[Variable]],
        tape: GradientTape | None = None,
    ) -> Variable:
        """Compute the gradient of `loss` and apply it.

        Parameters
        ----------
        loss : callable or tensor
            A function without arguments that computes the loss, or the loss itself if `tape` recorded it.
        var_list : sequence of Variable, or callable that gives one
        tape : GradientTape, optional
            The tape under which a function `loss` is called; a new one by default.

        Returns
        -------
        Variable
            `iterations`.

        Raises
        ------
        ValueError
            If `loss` is a tensor and there is no tape. Otherwise as `apply_gradients`.

        Examples
        --------
        >>> w = jt.Variable(3.0)
        >>> optimizer = jt.optimizers.SGD(0.25)
        >>> for _ in range(20):
        ...     _ = optimizer.minimize(lambda: jt.square(w - 1.0), [w])
        >>> round(float(w), 4)
        1.0
        """
        if callable(loss) and not isinstance(loss, Operators):
            tape = GradientTape() if tape is None else tape
            with tape:
                loss = loss()
        elif tape is None:
            raise ValueError(
                "minimize: `tape` is required when a tensor `loss` is passed; give the tape that recorded it, or a "
                "function that computes the loss"
            )
        variables = checked_variables(var_list() if callable(var_list) else var_list, "minimize")
        return self.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    # ---- the moving average ------------------------------------------------------------------------------------------

    def finalize_variable_values(self, var_list: Sequence[Variable]) -> None:
        """Assign the moving averages to the Variables, at the end of training. No effect without `use_ema`.

        Parameters
        ----------
        var_list : sequence of Variable

        Raises
        ------
        ValueError
            If a Variable has never been updated. Nothing is changed in this case.
        """
        variables = checked_variables(var_list, "finalize_variable_values")
        unknown = [v._label for v in variables if not self.knows(v)]
        if self.use_ema and unknown:
            raise ValueError(f"finalize_variable_values: {type(self).__name__} has no averages of {unknown}")
        for variable in variables if self.use_ema else ():
            variable.assign(self.state_of(variable, AVERAGE))

    # ---- as data ----------------------------------------------------------------------------------------------------

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments as plain values, with the current learning rate and without state.

        Raises
        ------
        TypeError
            If the learning rate is a custom function.
        """
        rate = self._learning_rate
        return {
            "name": self.name,
            "learning_rate": float(rate) if isinstance(rate, Variable) else serialize(rate),
            "weight_decay": self.weight_decay,
            "clipnorm": self.clipnorm,
            "clipvalue": self.clipvalue,
            "global_clipnorm": self.global_clipnorm,
            "use_ema": self.use_ema,
            "ema_momentum": self.ema_momentum,
            "ema_overwrite_frequency": self.ema_overwrite_frequency,
            "loss_scale_factor": self.loss_scale_factor,
            "gradient_accumulation_steps": self.gradient_accumulation_steps,
        }

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, Any],
        custom_objects: Mapping[str, type[LearningRateSchedule]] | None = None,
    ) -> Self:
        """Create an optimizer from the result of `get_config`, without state.

        Parameters
        ----------
        config : dict
        custom_objects : dict, optional
            Custom schedules by the name of their class.
        """
        arguments = dict(config)
        if isinstance(arguments.get("learning_rate"), Mapping):
            arguments["learning_rate"] = deserialize(arguments["learning_rate"], custom_objects)
        return cls(**arguments)
