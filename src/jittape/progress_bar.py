"""`jt.progress`: a progress bar that looks at values no oftener than it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from importlib import import_module
from time import monotonic
from typing import Any, Generic, TypeVar

__all__ = ["Progress", "progress"]

Item = TypeVar("Item")


def progress(
    items: Iterable[Item], description: str = "", total: int | None = None, interval: float = 0.1
) -> Progress[Item]:
    """Iterate over `items` with a progress bar, which shows steps per second and values such as the loss.

    Reading the value of a tensor runs everything that is recorded, so a loop that prints its loss at each step is
    slower. The bar reads the values of `show` only when it is drawn, ten times a second.

    Parameters
    ----------
    items : iterable
        The items of the loop, for example ``range(1000)`` or a dataset.
    description : str
        Text before the bar.
    total : int, optional
        Number of items; ``len(items)`` by default. Without either, the bar counts only.
    interval : float
        Least time between two drawings, in seconds.

    Returns
    -------
    Progress
        An iterable with the method `show`.

    Raises
    ------
    ModuleNotFoundError
        If tqdm, which draws the bar, is not installed.
    TypeError
        If `items` is not iterable.

    Examples
    --------
    >>> import jittape as jt
    >>> w = jt.Variable(4.0)
    >>> steps = jt.progress(range(50), "fit")
    >>> for step in steps:
    ...     with jt.GradientTape() as tape:
    ...         loss = w * w
    ...     _ = w.assign_sub(0.1 * tape.gradient(loss, w))
    ...     steps.show(loss=loss)
    >>> steps.shown
    {'loss': '5.09259e-09'}
    """
    return Progress(items, description, total, interval)


class Progress(Generic[Item]):
    """An iterable that draws a progress bar; made by `jt.progress`."""

    shown: dict[str, str]
    """The values that were drawn last, as text."""

    def __init__(self, items: Iterable[Item], description: str, total: int | None, interval: float) -> None:
        try:
            tqdm: Any = import_module("tqdm.auto").tqdm
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                "[progress] the bar is drawn by tqdm, which is not installed: pip install tqdm", name="tqdm"
            ) from None
        if not isinstance(items, Iterable):
            raise TypeError(
                f"[progress] items must be iterable, for example range(100); got {type(items).__name__}"
            )
        if total is None and isinstance(items, Sized):
            total = len(items)
        self._items = items
        self._bar: Callable[[], Any] = lambda: tqdm(
            desc=description or None, total=total, unit=" steps", mininterval=interval
        )
        self._interval = interval
        self._values: dict[str, Any] = {}
        self.shown = {}

    def __iter__(self) -> Iterator[Item]:
        with self._bar() as bar:
            drawn = monotonic()
            waiting = 0
            try:
                for item in self._items:
                    yield item
                    waiting += 1
                    now = monotonic()
                    if now - drawn >= self._interval:
                        self._draw(bar, waiting)
                        drawn, waiting = now, 0
            finally:
                self._draw(bar, waiting)

    def show(self, **values: Any) -> None:
        """Show these values beside the bar from now on: numbers, text, or tensors of one element."""
        self._values.update(values)

    def _draw(self, bar: Any, steps: int) -> None:
        self.shown = {name: _text(value) for name, value in self._values.items()}
        bar.set_postfix(self.shown, refresh=False)
        bar.update(steps)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{float(value):.6g}"
