"""`Ticket`: get something back when an object is gone, without running Python code at that moment.

CPython raises ``KeyboardInterrupt``, and whatever another signal handler raises, in the Python code that the main
thread happens to run, and ignores an exception in a finalizer. So Python code in a finalizer can swallow Ctrl-C. The
callback of a ticket is ``deque.append``, which is written in C; the owner of the deque empties it when it next has work
to do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import ref

from jittape.core.locks import rlock

__all__ = ["Companions", "Identity", "Ticket", "TicketQueue", "WeakValues"]

Key = TypeVar("Key")
Value = TypeVar("Value")


class Ticket(ref[Any]):
    """A weak reference, made as ``Ticket(owner, returned.append)``, that enters the deque when its owner is gone.

    The ticket must be kept alive until then. It has no ``__init__``, which would cost 1 µs.

    Attributes
    ----------
    content : any
        The object that outlives the owner.
    """

    __slots__ = ("content",)
    content: Any


class TicketQueue(deque[Ticket]):
    """The tickets whose owners are gone, and in `held`, by identity, those whose owners are alive.

    A queue and its tickets go together, with the last trace of their thread.
    """

    __slots__ = ("held",)

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[int, Ticket] = {}


class WeakValues(Generic[Key, Value]):
    """A dictionary that does not keep its values alive; an entry is removed with its value.

    `weakref.WeakValueDictionary` has a callback in Python, see above.
    """

    def __init__(self) -> None:
        self._tickets: dict[Key, Ticket] = {}
        self._gone: deque[Ticket] = deque()
        self._lock = rlock()

    def get(self, key: Key) -> Value | None:
        """Return the value, or None if there is none."""
        ticket = self._tickets.get(key)
        return None if ticket is None else ticket()

    def set(self, key: Key, value: Value) -> None:
        """Refer to `value` weakly."""
        ticket = Ticket(value, self._gone.append)
        ticket.content = key
        with self._lock:
            while self._gone:
                gone = self._gone.popleft()
                if self._tickets.get(gone.content) is gone:
                    del self._tickets[gone.content]
            self._tickets[key] = ticket

    def values(self) -> list[Value]:
        """Return all values that are alive."""
        return [value for ticket in list(self._tickets.values()) if (value := ticket()) is not None]

    def __len__(self) -> int:
        return len(self.values())


class Identity(ref[Any]):
    """A weak reference that is equal only to itself; hashing and comparing do not run code of its object."""

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__ = object.__eq__


class Companions(Generic[Value]):
    """Values that belong to objects, by identity; C code removes a value together with its object."""

    __slots__ = ("_references", "_values")

    def __init__(self) -> None:
        self._references: dict[int, Callable[[], Any]] = {}
        self._values: dict[Callable[[], Any], Value] = {}

    def get(self, owner: Any) -> Value | None:
        """Return the value of `owner`, or None if it has none."""
        reference = self._references.get(id(owner))
        if reference is None or reference() is not owner:
            return None
        return self._values.get(reference)

    def setdefault(self, owner: Any, value: Value) -> Value:
        """Return the value of `owner`, set to `value` if it has none. Owners without weak references are kept alive."""
        known = self.get(owner)
        if known is not None:
            return known
        if len(self._references) > 2 * len(self._values) + 8:
            self._references = {n: known for n, known in self._references.items() if known in self._values}
        try:
            reference: Callable[[], Any] = Identity(owner, self._values.__delitem__)
        except TypeError:
            reference = lambda: owner  # noqa: E731
        self._values[reference] = value
        self._references[id(owner)] = reference
        return value
