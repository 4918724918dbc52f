"""Nested structures of lists, tuples, named tuples and dicts (``jt.nest``), as in TensorFlow.

The entries of a dict are in the order of its sorted keys. Everything else, such as None, an array or a tensor, is a
leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from jittape.lazy_names import lazily as _lazily

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]


def is_nested(structure: Any) -> bool:
    """Return whether `structure` is a list, a tuple, a dict or a range, and not a leaf.

    Parameters
    ----------
    structure : object
        The object to check.

    Examples
    --------
    >>> [jt.nest.is_nested(x) for x in ([], {"a": 1}, "text", jt.constant([1]))]
    [True, True, False, False]
    """
    return isinstance(structure, (list, tuple, Mapping, range))


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Return the leaves of `structure` in order.

    Parameters
    ----------
    structure : nested structure
        A leaf alone gives a list of one.
    expand_composites : bool
        Ignored; for compatibility with TensorFlow.

    Examples
    --------
    >>> jt.nest.flatten({"b": 1, "a": [2, (3, None)]})
    [2, 3, None, 1]
    """
    if not is_nested(structure):
        return [structure]
    return [leaf for part in _parts(structure) for leaf in flatten(part)]


def pack_sequence_as(structure: Any, flat_sequence: Sequence[Any], expand_composites: bool = False) -> Any:
    """Return the leaves `flat_sequence` in the structure `structure`.

    Parameters
    ----------
    structure : structure
        A nested structure.
    flat_sequence : sequence
        One object for each leaf.
    expand_composites : bool
        Ignored.

    Raises
    ------
    TypeError
        If `flat_sequence` is no sequence.
    ValueError
        If the number of leaves differs.

    Examples
    --------
    >>> jt.nest.pack_sequence_as([0, {"x": 0, "y": 0}], [1, 2, 3])
    [1, {'x': 2, 'y': 3}]
    """
    if not isinstance(flat_sequence, (list, tuple, range)):
        raise TypeError(
            f"[nest.pack_sequence_as] flat_sequence must be a list of leaves, got {type(flat_sequence).__name__}"
        )
    wanted = len(flatten(structure))
    if len(flat_sequence) != wanted:
        raise ValueError(
            f"Could not pack sequence. Structure had {wanted} atoms, but flat_sequence had {len(flat_sequence)} items. "
            f" Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    return _packed(structure, iter(flat_sequence))


def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Return the structure of the results of `func` on the leaves of one or more equal structures.

    Parameters
    ----------
    func : callable
        Takes one leaf of each structure.
    *structure : nested structures
        The result has the types of the first.
    check_types : bool, default True
        Whether the types of lists, tuples and named tuples must agree; a keyword argument.
    expand_composites : bool
        Ignored; for compatibility with TensorFlow.

    Raises
    ------
    TypeError, ValueError
        As `assert_same_structure`.

    Examples
    --------
    >>> jt.nest.map_structure(lambda x, y: x + y, {"a": [1, 2]}, {"a": [10, 20]})
    {'a': [11, 22]}
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types = kwargs.pop("check_types", True)
    kwargs.pop("expand_composites", None)
    if kwargs:
        raise ValueError(
            f"Only valid keyword arguments are `check_types` and `expand_composites`, not: `{'`, `'.join(kwargs)}`"
        )
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types)
    results = [func(*leaves) for leaves in zip(*map(flatten, structure), strict=True)]
    return _packed(structure[0], iter(results))


def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raise an error if two structures differ; their leaves may.

    Parameters
    ----------
    nest1, nest2 : nested structures
    check_types : bool
        Whether the types of lists, tuples and named tuples must agree.
    expand_composites : bool
        Ignored; for compatibility with TensorFlow.

    Raises
    ------
    TypeError
        If the types differ.
    ValueError
        If the number of entries, the keys or the nesting differ. The message shows where.

    Examples
    --------
    >>> jt.nest.assert_same_structure([1, (2, 3)], ["a", ("b", "c")])
    """
    problem = next(_differences(nest1, nest2, check_types, "the structure"), None)
    if problem is not None:
        kind, text = problem
        raise kind(
            f"The two structures don't have the same nested structure.\n\nFirst structure: {nest1}\n\n"
            f"Second structure: {nest2}\n\nMore specifically: {text}"
        )


def _differences(
    one: Any, other: Any, check_types: bool, where: str
) -> Iterator[tuple[type[Exception], str]]:
    """Yield the type and the text of the error for each difference."""
    if not (is_nested(one) and is_nested(other)):
        if is_nested(one) or is_nested(other):
            yield (
                ValueError,
                f"{where} is {_described(one)} in the first, but {_described(other)} in the second",
            )
        return
    if isinstance(one, Mapping) != isinstance(other, Mapping) or (
        check_types and not isinstance(one, Mapping) and type(one) is not type(other)
    ):
        yield (
            TypeError,
            f"{where} is a {type(one).__name__} in the first, but a {type(other).__name__} in the second",
        )
    elif isinstance(one, Mapping) and one.keys() != other.keys():
        yield ValueError, f"{where} has the keys {list(one)} in the first, but {list(other)} in the second"
    elif len(one) != len(other):
        yield ValueError, f"{where} has {len(one)} entries in the first, but {len(other)} in the second"
    else:
        keys = _keys(one) if isinstance(one, Mapping) else range(len(one))
        for key, first, second in zip(keys, _parts(one), _parts(other), strict=True):
            yield from _differences(first, second, check_types, f"{where}[{key!r}]")


def _described(structure: Any) -> str:
    return f"a {type(structure).__name__}" if is_nested(structure) else f"the leaf {structure!r}"


def _keys(structure: Mapping[Any, Any]) -> list[Any]:
    """Return the sorted keys of a dict."""
    try:
        return sorted(structure)
    except TypeError:
        raise TypeError(
            f"the keys of a dict in a nested structure must be sortable, got {list(structure)}"
        ) from None


def _parts(structure: Any) -> list[Any]:
    """Return the entries of a structure that is no leaf."""
    if isinstance(structure, Mapping):
        return [structure[key] for key in _keys(structure)]
    return list(structure)


def _packed(structure: Any, leaves: Iterator[Any]) -> Any:
    """Return `structure` with the next `leaves`."""
    if not is_nested(structure):
        return next(leaves)
    if isinstance(structure, Mapping):
        new = {key: _packed(structure[key], leaves) for key in _keys(structure)}
        ordered = {key: new[key] for key in structure}
        return ordered if type(structure) is dict else type(structure)(ordered)  # type: ignore[call-arg]
    parts = [_packed(part, leaves) for part in structure]
    if isinstance(structure, (list, range)):
        return parts
    return type(structure)(*parts) if hasattr(structure, "_fields") else tuple(parts)


__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
