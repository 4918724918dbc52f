"""The start of a process: modules imported and files read up to the first gradient, with a filled cache.

Times vary; these numbers do not. A module costs 0.1 to 0.3 ms, and so does a file.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jittape.compile.cache import fingerprint
from processes import SOURCE, run_python

COUNTED = """
import os, sys
import numpy as np

def counted(event, arguments):
    if event == "open" and str(arguments[0]).startswith(os.environ["JITTAPE_CACHE_DIR"]):
        files.append(os.path.basename(arguments[0]))

def count_stat(path, *args, **kwargs):
    stats.append(path)
    return stat(path, *args, **kwargs)

files, stats, stat, before = [], [], os.stat, set(sys.modules)
sys.addaudithook(counted)
os.stat = count_stat
"""
TAPE = """
import jittape as jt
x = np.linspace(-1, 1, 100, dtype=np.float32)
m, b = jt.Variable(0.0), jt.Variable(0.0)
def step():
    with jt.GradientTape() as tape:
        loss = jt.reduce_mean(jt.square(m * x + b - (3 * x + 2)))
    dm, db = tape.gradient(loss, [m, b])
    m.assign_sub(0.05 * dm)
    b.assign_sub(0.05 * db)
    return loss
for _ in range(2):
    float(step())
"""
FUNCTION = TAPE.replace("def step", "@jt.function\ndef step")
REPORT = """
after = sys.modules.keys() - before
import json
own = sorted(name for name in after if name.startswith("jittape"))
sources = [path for path in stats if str(path).endswith(".py")]
print(json.dumps({
    "own": own,
    "others": sorted(after - {*own}),
    "files": files,
    "sources": len(sources) - len({*sources}),
}))
"""
EXPENSIVE = {
    "dataclasses",
    "json",
    "llvmlite",
    "logging",
    "numba",
    "pathlib",
    "scipy",
    "subprocess",
    "tempfile",
    "urllib",
}


def report(program: str) -> dict:
    done = run_python("-c", COUNTED + program + REPORT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_import_has_the_names_alone() -> None:
    found = report("import jittape")
    assert len(found["own"]) <= 14, found["own"]
    assert found["others"] == ["__future__", "gc"]
    assert found["files"] == []


@pytest.mark.parametrize(
    ("used", "modules"),
    [
        ("", 14),
        (".optimizers.Adam", 135),
        (".losses.MeanSquaredError", 142),
        (".metrics.Mean", 129),
        (".layers.Dense", 172),
        (".Sequential", 253),
    ],
)
def test_the_parts_of_keras_are_imported_when_they_are_used(used, modules) -> None:
    found = report(f"import jittape as jt; jt.keras{used}")
    assert len(found["own"]) <= modules, found["own"]


def test_functions_of_autograd_do_not_import_random_numbers() -> None:
    """`numpy.random` takes 13 ms."""
    found = report("import jittape.autograd.numpy as np; np.sin")
    assert "numpy.random" not in found["others"]


@pytest.mark.parametrize(("program", "modules", "files"), [(TAPE, 140, 15), (FUNCTION, 173, 15)])
def test_a_first_gradient_with_a_filled_cache(program, modules, files, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path))
    report(program)
    report(program)  # sources that have changed within the last seconds are remembered by the next process
    found = report(program)
    assert len(found["own"]) <= modules, found["own"]
    assert EXPENSIVE.isdisjoint(found["others"])
    assert len(found["files"]) <= files, found["files"]
    assert len(found["files"]) == len({*found["files"]}), "a file was read twice"
    assert found["sources"] == 0, "the sources were looked at twice"


CHANGED = """
import os, pathlib, sys
import numpy as np
import jittape as jt

source = pathlib.Path(jt.__file__).parent / "primitives" / "elementwise" / "exponential.py"

OLD, NEW = "lowering=Map(lambda m, x: m.exp(x))", "lowering=Map(lambda m, x: m.exp(x) * m.exp(x))"

def value(function):
    for _ in range(2):
        y = float(jt.reduce_sum(function(jt.constant(np.ones(3))) * 1.5))
    return round(y, 3)

def edit(old, new):
    text = source.read_text("utf-8")
    assert text.count(old) == 1, text
    source.write_text(text.replace(old, new), "utf-8")

"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of jittape that may be edited, with a cache of its own."""
    shutil.copytree(
        Path(SOURCE) / "jittape", tmp_path / "jittape", ignore=shutil.ignore_patterns("__pycache__")
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "compiled"))
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path / "cache"))

    def run(program: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", CHANGED + program], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


def test_what_runs_after_an_edit_of_its_source_is_not_cached(package) -> None:
    """The next process would find the program of the old source among those of the new one."""
    assert package("jt.exp; edit(OLD, NEW); print(value(jt.exp))") == "12.232"
    assert package("print(value(jt.exp))") == "33.251"
    assert package("edit(NEW, OLD); print(value(jt.exp))") == "12.232"


def test_what_is_imported_after_an_edit_is_not_cached_with_the_old_sources(package) -> None:
    """The cache was opened before the edit, and the source is changed back."""
    assert package("print(value(jt.square)); edit(OLD, NEW); print(value(jt.exp))") == "4.5\n33.251"
    assert package("edit(NEW, OLD)") == ""
    assert package("print(value(jt.exp))") == "12.232"
    assert package("print(value(jt.exp), jt.stats().kernels_loaded)") == "12.232 1"


def test_sources_of_the_future_are_cached(package) -> None:
    """An archive may have given the files such times."""
    package("os.utime(source, (4e9, 4e9))")
    assert package("print(value(jt.exp), jt.stats().kernels_loaded)") == "12.232 0"
    assert package("print(value(jt.exp), jt.stats().kernels_loaded)") == "12.232 1"


def test_a_program_of_the_user_is_no_source_of_jittape() -> None:
    """``python core/model.py`` gives code a relative name."""
    assert fingerprint.covers(fingerprint.__file__)
    assert not fingerprint.covers("core/model.py")
    assert not fingerprint.covers(f"/home/ada{fingerprint.__file__}")
    assert not fingerprint.covers(pytest.__file__)
