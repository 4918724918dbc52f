"""Results of `Checkpoint.restore`, with checks of what was restored."""

from __future__ import annotations

from typing import Any, NoReturn, Self

from jittape.train.restoration import Restoration
from jittape.train.trackable import variables_at
from jittape.weights import shortened

__all__ = ["CheckpointLoadStatus", "InitializationOnlyStatus"]


class CheckpointLoadStatus:
    """Result of `Checkpoint.restore`; each method returns the status itself.

    Attributes of the checkpoint that had no Variables yet receive their values when these are created.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = jt.train.Checkpoint(v=jt.Variable(1.0)).write(os.path.join(folder.name, "one"))
    >>> later = jt.train.Checkpoint(v=jt.Variable(0.0), w=jt.Variable(0.0))
    >>> status = later.read(path)
    >>> try:
    ...     status.assert_existing_objects_matched()
    ... except AssertionError as error:
    ...     print(str(error).partition(":")[0])
    1 Variables have no value in the checkpoint
    >>> folder.cleanup()
    """

    def __init__(self, restoration: Restoration, root: Any) -> None:
        self._restoration = restoration
        self._root = root

    def assert_consumed(self) -> Self:
        """Raise `AssertionError` if a value of the checkpoint or a Variable of the objects has no counterpart."""
        self.assert_existing_objects_matched()
        waiting = self._restoration.waiting
        if waiting:
            lines = shortened([f"{path!r} ({v.aval})" for path, v in waiting.items()])
            raise AssertionError(
                f"Unresolved object in checkpoint {self._restoration.source}: {len(waiting)} values have no Variable:"
                f"\n  {lines}\nThey are restored when the Variables are created; expect_partial() accepts fewer"
            )
        return self

    def assert_existing_objects_matched(self) -> Self:
        """Raise `AssertionError` if a Variable of the objects did not receive a value."""
        unmatched: list[str] = []
        late: list[str] = []
        for path, variable in variables_at(self._root).items():
            if path not in self._restoration.restored and path != "save_counter":
                text = f"{path!r} ({variable.aval}, {variable._label!r})"
                (late if path in self._restoration.waiting else unmatched).append(text)
        if late:
            raise AssertionError(
                f"{len(late)} Variables were added to a list or a dict after restore(), and kept their first values:"
                f"\n  {shortened(late)}\nCall restore() again, or assign the list or dict to its attribute again"
            )
        if unmatched:
            raise AssertionError(
                f"{len(unmatched)} Variables have no value in the checkpoint: {self._restoration.source} lacks\n  "
                f"{shortened(unmatched)}"
            )
        return self

    def assert_nontrivial_match(self) -> Self:
        """Raise `AssertionError` if the checkpoint holds no objects."""
        if not self._restoration.restored and not self._restoration.waiting:
            raise AssertionError(f"Nothing to load: {self._restoration.source} has no values")
        return self

    def expect_partial(self) -> Self:
        """Accept that only a part was restored. jittape does not warn about other parts in any case."""
        return self


class InitializationOnlyStatus:
    """Result of ``Checkpoint.restore(None)``, which restores nothing."""

    def _fail(self) -> NoReturn:
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    def assert_consumed(self) -> NoReturn:
        """Raise `AssertionError`."""
        self._fail()

    def assert_existing_objects_matched(self) -> NoReturn:
        """Raise `AssertionError`."""
        self._fail()

    def assert_nontrivial_match(self) -> NoReturn:
        """Raise `AssertionError`."""
        self._fail()

    def expect_partial(self) -> Self:
        """Return the status."""
        return self
