"""Optimizer state in files."""

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
"""Remedy in errors about state that does not match."""


class StateFile:
    """Base class of optimizers that writes and reads their state."""

    name: str

    def _take_on(self, variables: Iterable[Variable]) -> None:
        """Create the state of those `variables` that have none yet."""
        raise NotImplementedError(f"{type(self).__name__} must define _take_on(variables)")

    def save_weights(self, path: str | os.PathLike[str]) -> None:
        """Write the optimizer's `variables` to a file, as `Module.save_weights` does.

        Parameters
        ----------
        path : str or path
            Ends in ``.npz``, or in ``.safetensors`` if the package safetensors is installed.

        Raises
        ------
        WeightsError
            If the extension is another one, or the format does not support a dtype.
        ImportError
            If the package safetensors is required and not installed.
        OSError
            If the file cannot be written. A previous file remains.
        """
        from jittape.weights import save  # importing zipfile takes 12 ms

        save(path, f"the optimizer {self.name!r}", self.state_by_name())

    def load_weights(self, path: str | os.PathLike[str], variables: Iterable[Variable] = ()) -> None:
        """Load the state that `save_weights` wrote, all of it or none.

        Parameters
        ----------
        path : str or path
            Ends in ``.npz`` or ``.safetensors``.
        variables : iterable of Variable, optional
            The optimized Variables, in the order in which the saved optimizer first updated them. Only a new
            optimizer, which has no state yet, needs them.

        Raises
        ------
        WeightsError
            If the file is damaged, has another format, or contains the state of another optimizer or other Variables.
        ImportError
            If the package safetensors is required and not installed.
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
        from jittape.weights import load  # importing zipfile takes 12 ms

        before = {name: copy.copy(v) for name, v in vars(self).items() if isinstance(v, (list, dict))}
        try:
            self._take_on(variables)
            load(path, f"the optimizer {self.name!r}", self.state_by_name(), _REMEDY)
        except BaseException:
            vars(self).update(before)  # no state for these Variables
            raise

    def state_by_name(self) -> dict[str, Variable]:
        """Return the state as ``0.iterations``, ``1.velocity``, ..., independent of the attributes that hold it."""
        raise NotImplementedError(f"{type(self).__name__} must define state_by_name")
