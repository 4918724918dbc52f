"""`Callback`, and callbacks that compare no values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

__all__ = ["Callback", "CallbackList", "History", "LambdaCallback", "TerminateOnNaN"]


class Callback:
    """Base class of callbacks. A subclass overrides the methods that it needs.

    `fit` calls ``on_epoch_begin(epoch, logs)`` and ``on_epoch_end``. Training calls ``on_train_begin(logs)``,
    ``on_train_batch_begin(batch, logs)``, ``on_train_batch_end`` and ``on_train_end``. Evaluation, also of validation
    data, calls the methods with ``test`` in place of ``train``, and prediction those with ``predict``. Epochs and
    batches count from 0. `logs` is a dict of numbers: the loss and the metrics.

    Attributes
    ----------
    model : Model
    params : dict
        ``epochs``, ``steps`` (None if unknown) and ``verbose``.

    Examples
    --------
    >>> class Epochs(jt.keras.callbacks.Callback):
    ...     def on_epoch_end(self, epoch, logs=None):
    ...         print(epoch, sorted(logs))
    >>> model = jt.keras.Sequential([jt.keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> history = model.fit(np.ones((4, 2)), np.ones((4, 1)), epochs=2, verbose=0, callbacks=[Epochs()])
    0 ['loss']
    1 ['loss']
    """

    model: Any = None
    params: dict[str, Any] | None = None

    def set_model(self, model: Any) -> None:
        """Keep the model in `model`."""
        self.model = model

    def set_params(self, params: dict[str, Any]) -> None:
        """Keep the parameters of the call in `params`."""
        self.params = params


_METHODS = (
    "on_epoch_begin", "on_epoch_end",
    *[f"on_{part}{at}" for part in ("train", "train_batch", "batch", "test", "test_batch", "predict", "predict_batch")
      for at in ("_begin", "_end")],
)  # fmt: skip


def _nothing(name: str) -> Callable[..., None]:
    """Return a method that does nothing, which a subclass may call by ``super()``."""

    def method(self: Callback, *args: Any, **kwargs: Any) -> None:
        """Do nothing; a subclass overrides this method."""

    method.__name__, method.__qualname__ = name, f"Callback.{name}"
    return method


for _name in _METHODS:
    setattr(Callback, _name, _nothing(_name))


class CallbackList:
    """The callbacks of one call of `fit`, `evaluate` or `predict`.

    Parameters
    ----------
    callbacks : sequence
        Objects with any of the methods of `Callback`.
    model : Model
    **params
        The parameters that callbacks get.

    Raises
    ------
    TypeError
        For a class instead of an object.

    Examples
    --------
    >>> history = jt.keras.callbacks.History()
    >>> callbacks = jt.keras.callbacks.CallbackList([history], jt.keras.Sequential([]), epochs=1)
    >>> callbacks.call("on_epoch_end", 0, {"loss": 0.5})
    >>> history.epoch
    [0]
    """

    def __init__(self, callbacks: Any, model: Any, **params: Any) -> None:
        given = (
            callbacks if isinstance(callbacks, (list, tuple)) else [] if callbacks is None else [callbacks]
        )
        for callback in given:
            if not isinstance(callback, type) and not hasattr(callback, "__dict__"):
                raise TypeError(
                    f"[{params.pop('owner', 'fit')}] callbacks must be objects such as EarlyStopping(), got "
                    f"{callback!r}"
                )
            if isinstance(callback, type):
                raise TypeError(
                    f"[{params.pop('owner', 'fit')}] callbacks must be objects, got the class {callback.__name__}; "
                    f"write {callback.__name__}()"
                )
            if hasattr(callback, "set_params"):
                callback.set_params(params)
            if hasattr(callback, "set_model"):
                callback.set_model(model)
            elif getattr(callback, "model", None) is None:
                callback.model = model
        self.callbacks = list(given)

    def has(self, name: str) -> bool:
        """Return whether a callback defines this method."""
        return any([self._method(callback, name) is not None for callback in self.callbacks])

    def call(self, name: str, *args: Any) -> None:
        """Call this method of all callbacks that define it."""
        for callback in self.callbacks:
            method = self._method(callback, name)
            if method is not None:
                method(*args)

    @staticmethod
    def _method(callback: Any, name: str) -> Callable[..., Any] | None:
        names = [name, name.replace("_train_batch_", "_batch_")]
        for one in names if "_train_batch_" in name else names[:1]:
            found: Callable[..., Any] | None = getattr(callback, one, None)
            if found is not None and getattr(found, "__func__", None) is not getattr(Callback, one, None):
                return found
        return None


class History(Callback):
    """Losses and metrics of each epoch, which `Model.fit` returns.

    Attributes
    ----------
    epoch : list of int
    history : dict of lists
        Values by name; those of validation data begin with ``"val_"``.

    Examples
    --------
    >>> history = jt.keras.callbacks.History()
    >>> history.on_epoch_end(0, {"loss": 0.5})
    >>> history.epoch, history.history
    ([0], {'loss': [0.5]})
    """

    def __init__(self) -> None:
        self.epoch: list[int] = []
        self.history: dict[str, list[float]] = {}

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        """Append the values of an epoch."""
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


class LambdaCallback(Callback):
    """A callback made of functions.

    Parameters
    ----------
    **functions : callable
        By the name of the method, such as ``on_epoch_end=lambda epoch, logs: ...``.

    Raises
    ------
    TypeError
        For a name that is no method of a callback, or a value that is not callable.

    Examples
    --------
    >>> seen = []
    >>> callback = jt.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(epoch))
    >>> model = jt.keras.Sequential([jt.keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> history = model.fit(np.ones((4, 2)), np.ones((4, 1)), epochs=3, verbose=0, callbacks=[callback])
    >>> seen
    [0, 1, 2]
    """

    def __init__(self, **functions: Callable[..., Any] | None) -> None:
        for name, function in functions.items():
            if name not in _METHODS:
                raise TypeError(f"[LambdaCallback] {name!r} is none of {', '.join(_METHODS)}")
            if function is not None:
                if not callable(function):
                    raise TypeError(f"[LambdaCallback] {name} must be callable, got {function!r}")
                setattr(self, name, function)


class TerminateOnNaN(Callback):
    """End the training when the loss is nan or infinite.

    Examples
    --------
    >>> model = jt.keras.Sequential([jt.keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> stop = jt.keras.callbacks.TerminateOnNaN()
    >>> model.fit(np.ones((4, 2)), np.full((4, 1), np.nan), epochs=5, verbose=0, callbacks=[stop]).epoch
    Batch 0: Invalid loss, terminating training
    [0]
    """

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        """Check the loss of a batch."""
        loss = (logs or {}).get("loss")
        if loss is not None and not math.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True
