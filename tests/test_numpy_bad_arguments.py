"""Arguments of other kinds than numbers: the message names the function and the argument."""

import inspect
import re
from typing import Any

import numpy as np
import pytest

import jittape as jt
import jittape.numpy as jnp

BAD = {
    "None": None,
    "text": "abc",
    "dict": {"a": 1},
    "objects": np.array([1, "a", None], object),
    "texts": np.array(["a", "b"]),
}
TEXT = (
    "array2string array_repr array_str base_repr binary_repr format_float_positional format_float_scientific fromfile "
    "fromstring genfromtxt load loadtxt"
)
KINDS = "broadcast_shapes can_cast dtype finfo iinfo isdtype isscalar issubdtype iterable min_scalar_type promote_types"
SETTINGS = "errstate geterr get_printoptions ndindex printoptions result_type set_printoptions seterr"
OTHERS = f"{TEXT} {KINDS} {SETTINGS}".split()
"""Functions that take anything else than arrays."""


def functions(module):
    found = [getattr(module, name) for name in dir(module) if not name.startswith("_") and name not in OTHERS]
    return [f for f in found if inspect.isfunction(f)]


def calls(function):
    """Yield the name of each required argument, and arguments with a bad one in its place."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return
    required = [
        p.name for p in parameters if p.default is p.empty and p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)
    ]
    for i, name in enumerate(required):
        for bad in BAD.values():
            args = [jnp.asarray(np.eye(3))] * len(required)
            args[i] = bad
            yield name, args


def message_of(function, args):
    """Return the message of the error of a call; None if it raises none."""
    try:
        function(*args)
    except (TypeError, ValueError, IndexError) as error:
        return str(error)
    return None


@pytest.mark.parametrize("module", [jnp, jnp.linalg, jnp.fft])
def test_a_bad_required_argument_is_named(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # "abc" is a good name of a file for `jnp.save`
    tried = [
        (f, argument, args, message_of(f, args)) for f in functions(module) for argument, args in calls(f)
    ]
    unnamed = [
        (f.__name__, argument, message)
        for f, argument, _, message in tried
        if message is not None and f.__name__ not in message and not re.match(r"\[\w+\]|np\.\w+", message)
    ]
    assert len(tried) > 50
    assert unnamed == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: jnp.sort(None),
            r"\[sort\] a must be a tensor, an array or nested lists of numbers, got None",
        ),
        (lambda: jnp.dot(jnp.ones(2), None), r"\[dot\] b must be a tensor, .*, got None"),
        (lambda: jnp.maximum(None, 1.0), r"\[maximum\] x1 must be a tensor, .*, got None"),
        (
            lambda: jnp.concatenate(None),
            r"\[concatenate\] arrays must be a list or tuple of tensors or arrays, got None",
        ),
        (
            lambda: jnp.stack([jnp.ones(2), None]),
            r"\[stack\] Cannot convert None to a tensor",
        ),
        (lambda: jnp.zeros("ab"), r"\[zeros\] shape must be an int or a tuple of ints, got 'ab'"),
        (lambda: jnp.eye({}), r"\[eye\] N must be an int, got \{\}"),
        (
            lambda: jnp.float32(None),
            r"\[float32\] a must be a tensor, an array or nested lists of numbers, got None",
        ),
        (
            lambda: jnp.digitize(jnp.ones(2), BAD["objects"]),
            r"\[digitize\] bins must be .*such as x.astype\(float\)",
        ),
    ],
)
def test_messages(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


@pytest.mark.parametrize("namespace", [np, jnp])
@pytest.mark.parametrize("dtype", ["int64", "uint16", "float64"])
@pytest.mark.parametrize("decimals", [-1, 0, 1])
def test_rounded_integers_are_written_where_numpy_writes_them(namespace: Any, dtype: str, decimals: int):
    a, target = np.array([14, 26, 35], "uint16"), np.zeros(3, dtype)
    calls = (lambda n, a, out: n.round(a, decimals, out=out), lambda n, a, out: a.round(decimals, out))
    for call in calls:
        out = jt.constant(target)
        try:
            wanted = call(np, a, target)
        except TypeError:
            with pytest.raises(TypeError, match="out must have a dtype of floats"):
                call(namespace, jt.constant(a), out)
        else:
            assert call(namespace, jt.constant(a), out).tolist() == wanted.tolist()


@pytest.mark.parametrize(
    "bounds",
    [((1,), {}), ((1,), {"max": 3}), ((), {"a_max": 3}), ((1, 2), {"min": 0}), ((None, None), {"max": None})],
)
def test_clip_takes_one_pair_of_bounds(bounds):
    args, kwargs = bounds
    x = np.arange(5.0)
    with pytest.raises((TypeError, ValueError)) as numpys:
        np.clip(x, *args, **kwargs)
    for clip in (np.clip, jnp.clip):
        with pytest.raises(numpys.type, match=r"clip.*(a_min|a_max)"):
            clip(jt.constant(x), *args, **kwargs)
