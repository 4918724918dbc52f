"""Gradients on disk: what another process loads, and which edits make it derive the gradient again."""

import importlib
import json
import os
import sys
import types
from collections import namedtuple

import numba
import numpy as np
import pytest
from numba import njit

import jittape as jt
from jittape.__main__ import main
from jittape.numba_ad.gradient_function import types_of
from jittape.numba_ad.stored_gradients import check_key, gradient_key, was_checked
from processes import run_python

CACHED = """
import sys, numba, numpy as np, jittape as jt
from jittape.numba_ad import gradient_code
sys.path.insert(0, sys.argv[1])
from cached_user import total
derive, derived = gradient_code.generate, []
gradient_code.generate = lambda *args: derived.append(args) or derive(*args)
gradient = jt.njit_grad(total, cache=True)
result = gradient(np.array([1.0, 2.0]), 3)
found = gradient.derived(next(iter(gradient._derived)))
print(result.round(9).tolist(), len(derived), sum(found.stats.cache_misses.values()))
"""

USER = """
import numba
from cached_library import term
FACTOR = {factor}
@numba.njit
def total(x, n):
    s = 0.0
    for _ in range(n):
        for i in range(len(x)):
            s += FACTOR * term(x[i])
    return s
"""

LIBRARY = """
import numba
@numba.njit
def term(x):
    return {term}
"""


def test_another_process_derives_and_compiles_nothing_before_an_edit(tmp_path, monkeypatch):
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path / "cache"))
    for factor, term, expected in (
        (1.0, "x * x", "[6.0, 12.0] 1 1"),
        (1.0, "x * x", "[6.0, 12.0] 0 0"),
        (2.0, "x * x", "[12.0, 24.0] 1 1"),
        (2.0, "x * x * x", "[18.0, 72.0] 1 1"),
    ):
        (tmp_path / "cached_user.py").write_text(USER.format(factor=factor))
        (tmp_path / "cached_library.py").write_text(LIBRARY.format(term=term))
        done = run_python("-c", CACHED, str(tmp_path))
        assert done.stdout.split("\n")[0] == expected, done.stderr


LOADED = """
import sys, numpy as np, jittape as jt
sys.path.insert(0, sys.argv[1])
from cached_user import total
try:
    gradient = jt.njit_value_and_grad(total, cache=True)
    gradient(np.array([1.0, 2.0]), 3)
    print(*[name for name in sys.argv[2:] if name in sys.modules])
except jt.NoGradientError as error:
    print("refused", str(error).partition(": `")[2])
"""


def test_a_process_that_loads_a_gradient_does_not_import_what_derives_it(tmp_path, monkeypatch):
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "cached_user.py").write_text(USER.format(factor=1.0))
    names = [
        f"jittape.{name}"
        for name in (
            "numba_ad.gradient_code",
            "numba_ad.lower.check_source",
            "numba_ad.scalar_support",
            "numba_ad.njit_callable",
            "numba_ad.store_gradient",
            "numba_ad.tape_support",
            "numba_ad.user_rules",
            "compile",
            "recording.tensor",
            "functions",
            "compile.cache.object_store",
        )
    ]
    for term, expected in (
        ("x * x", " ".join(names[:7])),
        ("x * x", ""),
        ("(x * x).real", "refused "),
    ):
        (tmp_path / "cached_library.py").write_text(LIBRARY.format(term=term))
        done = run_python("-c", LOADED, str(tmp_path), *names)
        assert done.stdout.startswith(f"{expected}\n" if "refused" not in expected else expected), done.stderr


def test_a_deleted_note_of_the_check_is_written_again(tmp_path, monkeypatch):
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path))
    function = scaled(2.0)
    for _ in range(2):
        jt.njit_grad(function, cache=True)(X)
        assert was_checked(jt.njit_grad(function, cache=True))
        (tmp_path / "njit_gradients" / f"{check_key(jt.njit_grad(function))}.checked").unlink()


def test_other_explicit_signatures_are_checked_again():
    keys = {check_key(jt.njit_grad(njit(one)(first_of))) for one in ("f8(f8[:])", "f8(f8[::1])", None)}
    assert len(keys) == 3


def first_of(x):
    return x[0] * x[0]


def test_bytecode_of_generated_modules_is_stored_even_if_python_writes_none(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path))
    jt.njit_grad(cubes, cache=True)(X)
    (bytecode,) = (tmp_path / "njit_gradients" / "__pycache__").glob("*.pyc")
    (module,) = (tmp_path / "njit_gradients").glob("*.py")
    assert bytecode.name.split(".")[0] == module.stem
    (noted,) = (tmp_path / "njit_gradients").glob("*.files")
    assert bytecode.name in json.loads(noted.read_text())


def test_a_damaged_module_is_derived_again(tmp_path, monkeypatch):
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "cached_user.py").write_text(USER.format(factor=1.0))
    (tmp_path / "cached_library.py").write_text(LIBRARY.format(term="x * x"))
    run_python("-c", CACHED, str(tmp_path))
    (module,) = (tmp_path / "cache" / "njit_gradients").glob("*.py")
    module.write_text(module.read_text() + "raise RuntimeError\n")
    done = run_python("-c", CACHED, str(tmp_path))
    assert done.stdout.startswith("[6.0, 12.0] 1 "), done.stderr


def scaled(factor, default=1.0):
    @njit
    def inner(x):
        return factor * x[0] * x[1]

    @njit
    def outer(x, y=default):
        return inner(x) * y

    return outer


def key_of(function, *args, **options):
    return gradient_key(jt.njit_grad(function, **options), types_of(args))


X = np.ones(2)


def test_equal_functions_have_equal_keys():
    assert key_of(scaled(2.0), X) == key_of(scaled(2.0), X) is not None


@pytest.mark.parametrize(
    ("function", "args", "options"),
    [
        (scaled(3.0), (X,), {}),
        (scaled(2), (X,), {}),
        (scaled(2.0, 3.0), (X,), {}),
        (scaled(2.0), (X.astype(np.float32),), {}),
        (scaled(2.0), (np.ones(4)[::2],), {}),
        (scaled(2.0), (X, 1), {}),
        (scaled(2.0), (X,), {"argnums": (0,)}),
        (scaled(2.0), (X,), {"checkpoint": "sqrt"}),
        (jt.njit_grad(scaled(2.0)), (X,), {}),
    ],
)
def test_what_changes_a_gradient_changes_its_key(function, args, options):
    assert key_of(function, *args, **options) not in (None, key_of(scaled(2.0), X))


def test_defaults_of_named_tuples_and_threads_change_a_key():
    def built(default, parallel=False):
        box = namedtuple("Box", "a b", defaults=(default,))

        def scaled_by_default(x):
            return x[0] * box(x[1]).b

        return njit(parallel=parallel)(scaled_by_default)

    keys = {key_of(built(*options), X) for options in ((2.0,), (3.0,), (2.0, True), (2.0,))}
    assert len(keys) == 3
    assert None not in keys


def test_named_tuples_with_other_fields_have_other_keys():
    @njit
    def first(x, pair):
        return x[0] * pair[0]

    one, other = namedtuple("Pair", "a b"), namedtuple("Pair", "a c")
    assert key_of(first, X, one(1.0, 2.0)) != key_of(first, X, other(1.0, 2.0))


def test_functions_of_unknown_values_have_no_key():
    """The attributes of a user's module and the rule of a function are not part of a key."""
    constants = types.ModuleType("constants")
    constants.g = 9.81

    @njit
    def weight(x):
        return constants.g * x[0]

    @numba.njit
    def half(x):
        return 0.5 * x

    @numba.njit
    def half_vjp(g, out, x):
        return 0.5 * g

    @njit
    def of_half(x):
        return half(x[0])

    assert key_of(weight, X) is None
    assert key_of(of_half, X) is not None
    jt.njit_rule(half, half_vjp)
    assert key_of(of_half, X) is None


@njit
def cubes(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i] ** 3
    return total


def test_the_command_lists_and_deletes_gradients(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path))
    jt.njit_grad(cubes, cache=True)(np.ones(3))
    folder = tmp_path / "njit_gradients"
    assert len(list((folder / "__pycache__").glob("*.nbc"))) == 1
    (folder / "notes.txt").write_text("of the user")
    assert main(["cache", "info"]) == 0
    assert "1 of @njit functions" in capsys.readouterr().out
    assert main(["cache", "clear"]) == 0
    assert "1 gradients of @njit functions" in capsys.readouterr().out
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    (folder / "notes.txt").unlink()
    assert main(["cache", "clear"]) == 0
    assert list(tmp_path.iterdir()) == []


def test_the_least_recently_used_gradients_make_room(tmp_path, monkeypatch):
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jt.config, "cache_size", 12_000)
    folder = tmp_path / "njit_gradients"
    (folder / "__pycache__").mkdir(parents=True)
    for number, used in enumerate([3, 1, 2]):
        name = f"jittape_gradient_f_{number}"
        (folder / f"{name}.py").write_text("x" * 2000)
        code = folder / "__pycache__" / f"{name}.f-1.py311.1.nbc"
        code.write_text("x" * 2000)
        entry = folder / f"{number:032x}.json"
        entry.write_text(f'{{"module": "{name}"}}')
        for path, time in ((folder / f"{name}.py", 0), (code, 0), (entry, used)):
            os.utime(path, (time, time))
    (folder / "notes.txt").write_text("of the user" * 10_000)
    jt.njit_grad(cubes, cache=True)(np.ones(3))
    names = sorted(path.name for path in folder.glob("*.py"))
    assert len(names) == 2
    assert names[1] == "jittape_gradient_f_0.py"
    assert len(list(folder.glob("*.json"))) == 2
    assert (folder / "notes.txt").exists()
    key = gradient_key(jt.njit_grad(cubes), types_of((np.ones(3),)))
    os.utime(folder / f"{key}.json", (0, 0))
    jt.njit_grad(cubes, cache=True)(np.ones(3))
    assert (folder / f"{key}.json").stat().st_mtime > 0


def test_damaged_files_are_compiled_again(tmp_path, monkeypatch):
    """Bytecode, machine code and Numba's index; Python and Numba raise any error for these."""
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path))
    jt.njit_grad(cubes, cache=True)(X)
    files = [path for path in (tmp_path / "njit_gradients").rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".py", ".json", ".checked", ".files", ".pyc", ".nbi", ".nbc"}
    whole = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
    for path in files:
        content = whole[path][0]
        for damaged in (b"", content[: len(content) // 2], b"\xff" * len(content)):
            for other, (saved, time) in whole.items():
                other.write_bytes(saved)
                os.utime(other, ns=(time, time))
            path.write_bytes(damaged)
            for name in [name for name in sys.modules if name.startswith("jittape_gradient_cubes")]:
                del sys.modules[name]
            np.testing.assert_array_equal(jt.njit_grad(cubes, cache=True)(X), [3.0, 3.0])


def test_a_folder_that_was_moved_is_loaded(tmp_path, monkeypatch):
    """The bytecode has the old path of its source, where Numba would look for the machine code."""
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path / "old"))
    jt.njit_grad(cubes, cache=True)(X)
    (tmp_path / "old").rename(tmp_path / "new")
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path / "new"))
    for name in [name for name in sys.modules if name.startswith("jittape_gradient_cubes")]:
        monkeypatch.delitem(sys.modules, name)
    gradient = jt.njit_grad(cubes, cache=True)
    np.testing.assert_array_equal(gradient(X), [3.0, 3.0])
    found = gradient.derived(next(iter(gradient._derived)))
    assert found.py_func.__code__.co_filename.startswith(str(tmp_path / "new"))
    assert sum(found.stats.cache_hits.values()) == 1


def test_a_folder_that_cannot_be_written_warns_and_compiles(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path / "file"))
    with pytest.warns(jt.CacheWarning, match="cannot be stored in .*JITTAPE_CACHE_DIR"):
        np.testing.assert_array_equal(jt.njit_grad(cubes, cache=True)(X), [3.0, 3.0])


def test_a_file_that_was_edited_after_its_import_has_no_gradient(tmp_path, monkeypatch):
    """The text of the file is not the source of the function; a function that was read before is known."""
    text = (
        "import numba\n@numba.njit\ndef edited(x):\n    return {}\n"
        "@numba.njit\ndef caller(x):\n    return edited(x)\n"
    )
    file = tmp_path / "edited_after_import.py"
    file.write_text(text.format("x * x * x"))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("edited_after_import")
    early = jt.njit_grad(module.edited)
    file.write_text(text.format("x + x + 2.0 * x"))
    assert early(3.0) == 27.0
    fresh = importlib.reload(module)
    assert jt.njit_grad(fresh.edited)(3.0) == 4.0
    file.write_text("# moved\n" + text.format("x - x"))
    with pytest.raises(jt.NoGradientError, match="the file has changed since Python read it"):
        jt.njit_grad(fresh.caller)


TABLE_USER = """
import numba
import numpy as np
TABLE = np.array([{items}])
@numba.njit
def total(x, n):
    s = 0.0
    for i in range(n):
        s += TABLE[i] * x[i % 2] ** 2
    return s
"""


def test_a_global_array_is_part_of_the_key(tmp_path):
    def run(items):
        (tmp_path / "cached_user.py").write_text(TABLE_USER.format(items=items))
        return run_python(
            "-c", CACHED, str(tmp_path), JITTAPE_CACHE_DIR=str(tmp_path / "cache")
        ).stdout.split("\n")[0]

    assert run("1.0, 2.0, 3.0") == "[8.0, 8.0] 1 1"
    assert run("1.0, 2.0, 3.0") == "[8.0, 8.0] 0 0"
    assert run("1.0, 2.0, 4.0") == "[10.0, 8.0] 1 1"


LATER_USES = """
import sys, numpy as np, jittape as jt
from numba import njit
sys.path.insert(0, sys.argv[1])
from cached_user import total
gradient = jt.njit_grad(total, cache=True)
x = np.array([1.0, 2.0])
found = [gradient(x, 3)]
print("loaded" if "jittape.numba_ad.tape_support" not in sys.modules else "derived")
@njit
def doubled(x, n):
    return 2.0 * gradient(x, n)
found += [doubled(x, 3), jt.njit_jvp(gradient)(np.array([1.0, 0.0]), x, 3)[1], gradient(x[::-1], 3)]
print([one.round(9).tolist() for one in found])
(types, *_) = gradient._derived
print(sum(gradient.derived(types).stats.cache_misses.values()))
"""


def test_a_loaded_gradient_serves_callers_derivatives_and_other_processors(tmp_path, monkeypatch):
    """Its module runs when something reads its names: a derivative of the gradient, or Numba on another processor."""
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "cached_user.py").write_text(USER.format(factor=1.0))
    (tmp_path / "cached_library.py").write_text(LIBRARY.format(term="x * x * x"))
    expected = "[[9.0, 36.0], [18.0, 72.0], [18.0, 0.0], [36.0, 9.0]]"
    for processor, first, misses in (("", "derived", 1), ("", "loaded", 0), ("generic", "derived", 1)):
        done = run_python(
            "-c", LATER_USES, str(tmp_path), **{"NUMBA_CPU_NAME": processor} if processor else {}
        )
        assert done.stdout.split("\n")[:3] == [first, expected, str(misses)], done.stderr


@pytest.mark.parametrize("edited", ["return x * x * 1.0", "return (x) * x", "y = x * x\n    return y"])
def test_an_edited_callee_has_another_key(tmp_path, monkeypatch, edited):
    monkeypatch.syspath_prepend(tmp_path)
    keys = set()
    for number, body in enumerate(["return x * x", edited]):
        (tmp_path / "edited_callee.py").write_text(f"import numba\n@numba.njit\ndef term(x):\n    {body}\n")
        os.utime(tmp_path / "edited_callee.py", (number, number))
        monkeypatch.delitem(sys.modules, "edited_callee", raising=False)
        importlib.invalidate_caches()
        term = importlib.import_module("edited_callee").term

        @njit
        def caller(x):
            return term(x[0])  # noqa: B023

        keys.add(key_of(caller, X))
    assert len(keys) == 2


CALLER = """
import numba, jittape as jt
from cached_user import total
gradient = jt.njit_grad(total, cache={cache})
@numba.njit(cache=True)
def moved(x):
    return x - gradient(x, 3)
"""

CALL = """
import sys, numpy as np
sys.path.insert(0, sys.argv[1])
from cached_caller import moved
numbers = [moved(np.array([1.0, 2.0], kind)).tolist() for kind in (np.float64, np.float32)]
print(numbers, sum(moved.stats.cache_misses.values()))
"""


@pytest.mark.parametrize("cache", [True, False])
def test_code_in_the_cache_of_numba_that_calls_a_gradient(tmp_path, monkeypatch, cache):
    """Numba loads the user's function with the code of the gradient, before anything derives or loads the gradient."""
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "cached_caller.py").write_text(CALLER.format(cache=cache))
    (tmp_path / "cached_user.py").write_text(USER.format(factor=1.0))
    for term, expected, misses in (
        ("x * x", "[[-5.0, -10.0], [-5.0, -10.0]]", 2),
        ("x * x", "[[-5.0, -10.0], [-5.0, -10.0]]", 0 if cache else 2),
        # Numba itself sees no change of the file of a callee.
        ("2.0 * x", "[[-5.0, -4.0], [-5.0, -4.0]]", 2),
    ):
        (tmp_path / "cached_library.py").write_text(LIBRARY.format(term=term))
        done = run_python("-c", CALL, str(tmp_path))
        assert done.stdout == f"{expected} {misses}\n", done.stderr
