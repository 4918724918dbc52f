"""`LineProfile`: the measurements of one line of the user's source."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["LineProfile"]


class LineProfile(NamedTuple):
    """A line of the user's source in a profile. Times are in seconds, over the whole profile.

    Attributes
    ----------
    file : str
    line : int
    function : str
        Name of the function that has the line.
    runs : int
        Number of runs of the operations that the line recorded.
    forward, backward, update : float
        Time in kernels and NumPy steps of the line's operations, of their gradients, and of updates with gradients.
    python, recording, compilation : float
        Time of the user's own code, of jittape's recording, and of the compiler, while the line ran.
    bandwidth : float
        Bytes per second that the kernels of the line read and wrote.
    operations : int
        Arithmetic operations on elements.
    kept : int
        Bytes of results that one run keeps for the backward pass.
    remarks : tuple of str
    """

    file: str
    line: int
    function: str
    runs: int
    forward: float
    backward: float
    update: float
    python: float
    recording: float
    compilation: float
    bandwidth: float
    operations: int
    kept: int
    remarks: tuple[str, ...]

    @property
    def total(self) -> float:
        """All times of the line, in seconds."""
        return self.forward + self.backward + self.update + self.python + self.recording + self.compilation
