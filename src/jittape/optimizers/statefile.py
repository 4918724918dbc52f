"""The state of an optimizer in a file."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable

from jittape.recording.variable import Variable

__all__ = ["StateFile"]

_REMEDY = (
    "Make the optimizer with the same options, and give load_weights the Variables in the order in which the one that "
    "was saved met them"
)
"""What to do about a state that does not fit."""


class StateFile:
    """The part of an optimizer that writes and reads its `variables`."""

    name: str

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The optimizer's own state."""
        raise NotImplementedError(f"{type(self).__name__} must define variables")

    def _take_on(self, variables: Iterable[Variable]) -> None:
        """Make the state for those of `variables` that have none yet."""
        raise NotImplementedError(f"{type(self).__name__} must define _take_on(variables)")

    def save_weights(self, path: str | os.PathLike[str]) -> None:
        """Write the optimizer's state, `variables`, to a file, as `Module.save_weights` does.

        Parameters
        ----------
        path : str or path
            Ends in ``.npz``, or in ``.safetensors`` where the package safetensors is installed.

        Raises
        ------
        WeightsError
            If the name ends otherwise, or the format has no such dtype.
        ImportError
            If the package safetensors is needed and not installed.
        OSError
            If the file cannot be written. What stood there before is still there.
        """
        from jittape.weights import save  # zipfile takes 12 ms to import

        save(path, f"the optimizer {self.name!r}", self._state_by_name())

    def load_weights(self, path: str | os.PathLike[str], variables: Iterable[Variable] = ()) -> None:
        """Go on with the state that `save_weights` wrote; with all of it or none.

        Parameters
        ----------
        path : str or path
            Ends in ``.npz`` or ``.safetensors``.
        variables : iterable of Variable, optional
            What is optimized, in the order in which the optimizer that was saved met it. Only a new optimizer needs it,
            which has no state for them yet.

        Raises
        ------
        WeightsError
            If the file is damaged or of another kind, or holds the state of another optimizer or other Variables.
        ImportError
            If the package safetensors is needed and not installed.
        OSError
            If the file cannot be read.

        Examples
        --------
        >>> import jittape as jt, os, tempfile
        >>> w = jt.Variable([1.0, 2.0])
        >>> optimizer, later = jt.optimizers.Adam(), jt.optimizers.Adam()
        >>> _ = optimizer.apply_gradients([(jt.constant([1.0, 1.0]), w)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "adam.npz")
        ...     optimizer.save_weights(path)
        ...     later.load_weights(path, [w])
        >>> int(later.iterations)
        1
        """
        from jittape.weights import load  # zipfile takes 12 ms to import

        before = {name: copy.copy(v) for name, v in vars(self).items() if isinstance(v, (list, dict))}
        try:
            self._take_on(variables)
            load(path, f"the optimizer {self.name!r}", self._state_by_name(), _REMEDY)
        except BaseException:
            vars(self).update(before)  # no state for these Variables
            raise

    def _state_by_name(self) -> dict[str, Variable]:
        """The state as ``0.iterations``, ``1.velocity``, ...; the attributes that it is kept in may change."""
        names = [v.name.partition(":")[0].rpartition("/")[2] for v in self.variables]
        return {f"{i}.{name}": v for i, (name, v) in enumerate(zip(names, self.variables, strict=True))}
