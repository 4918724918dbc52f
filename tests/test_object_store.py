"""Kernels on disk: what is found again, and everything that can go wrong with a file."""

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir

import jittape as jt
from host_schedules import schedule
from jittape.__main__ import main
from jittape.compile.cache import cache_folder, fingerprint, object_store, private_files
from jittape.compile.cache.batch_file import Batch
from jittape.compile.cache.kernel_cache import Origin, Registry
from jittape.compile.cache.object_store import DiskCache
from jittape.compile.llvm import target
from jittape.compile.llvm.loaded_code import CodeGroup
from jittape.compile.llvm.object_file import undefined_symbols
from jittape.core.buffers import owned
from jittape.core.cache_directory import cache_directory
from jittape.core.forms import Map
from jittape.core.interpret import interpret
from jittape.core.primitive import Primitive
from jittape.core.simplify import simplify
from jittape.primitives.elementwise.exponential import exp, sqrt
from jittape.primitives.record_parts import same_float
from jittape.runtime import executable as executable_module
from processes import SOURCE, run_python
from programs import program_of

PARTS = {"jittape": "1", "processor": "none"}
NAMES = ("k0123456789abcdef", "kfedcba9876543210")
BATCH = Batch(NAMES, b"machine code " * 1000)


@pytest.fixture
def cache(tmp_path):
    return DiskCache(tmp_path / "cache", PARTS)


def again(cache: DiskCache) -> DiskCache:
    """The same folder as another process would open it."""
    return DiskCache(cache.root, cache.parts)


def files(cache: DiskCache, kind: str = "*") -> list[Path]:
    return sorted(cache.folder.glob(kind))


# ---- what is written is found ----------------------------------------------------------------------------------------


def test_every_name_of_a_batch_finds_it(cache):
    assert cache.find(NAMES[0]) is None
    cache.publish(BATCH)
    assert [again(cache).find(name) for name in NAMES] == [BATCH, BATCH]
    assert again(cache).find("k0000000000000000") is None


def test_folders_and_files_are_the_users_own(cache):
    cache.publish(BATCH)
    assert [path.stat().st_mode & 0o777 for path in (cache.root, cache.folder)] == [0o700, 0o700]
    assert {path.stat().st_mode & 0o777 for path in files(cache)} == {0o600}


def test_another_environment_finds_nothing(cache):
    cache.publish(BATCH)
    for name in PARTS:
        assert DiskCache(cache.root, PARTS | {name: "another"}).find(NAMES[0]) is None


def test_the_environment_of_a_file(cache):
    cache.publish(BATCH)
    assert cache_folder.environment_of(cache.folder, NAMES[0]) == cache.parts
    assert cache_folder.environment_of(cache.folder, "k0000000000000000") is None
    outside = cache.folder.parent / "batch-elsewhere"
    next(cache.folder.glob("batch-*")).rename(outside)
    (cache.folder / NAMES[0]).write_text("../batch-elsewhere")
    assert cache_folder.environment_of(cache.folder, NAMES[0]) is None


def test_a_file_from_another_environments_folder_is_not_taken(cache):
    cache.publish(BATCH)
    other = DiskCache(cache.root, PARTS | {"processor": "another"})
    cache.folder.rename(other.folder)
    assert other.find(NAMES[0]) is None


def test_the_named_parts_of_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path / "here"))
    parts = object_store.current().parts
    assert list(parts) == [
        "jittape", "sources", "python", "llvmlite", "llvm", "target", "processor", "features", "flags",
    ]  # fmt: skip
    assert all(parts.values())


def test_a_change_in_the_sources_is_another_environment(monkeypatch, tmp_path):
    package = tmp_path / "jittape"
    for folder in [name for name in fingerprint.SOURCES if not name.endswith(".py")]:
        (package / folder).mkdir(parents=True)
    changed = [
        "compile/kernels/loop/emit_loops.py",
        "primitives/reduce/reductions.py",
        "native/object_layout.py",
        "core/simplify.py",
    ]
    for name in changed + [name for name in fingerprint.SOURCES if name.endswith(".py")]:
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("a = 1\n")
    monkeypatch.setattr(fingerprint, "_PACKAGE", str(package))
    digests = []
    for name in changed:
        digests.append(fingerprint.source_digest.__wrapped__())
        (package / name).write_text("a = 2\n")
    assert len({*digests, fingerprint.source_digest.__wrapped__()}) == 5


def test_what_writes_code_for_this_cache_is_a_part_of_the_environment():
    """Numba keeps the code of gradients and of the bridge to it, except log densities; files for C are no cache."""
    package = Path(jt.__file__).parent
    writers = [path for path in package.rglob("*.py") if "from llvmlite import ir" in path.read_text("utf-8")]
    names = {path.relative_to(package).as_posix() for path in writers}
    kept = {name for name in names if not name.startswith(("numba_ad/", "numba_bridge/", "exports/"))}
    assert len(kept) > 20
    folders = tuple([f"{name}/" for name in fingerprint.SOURCES])
    assert {
        name for name in kept if name not in fingerprint.SOURCES and not name.startswith(folders)
    } == set()


# ---- damage ----------------------------------------------------------------------------------------------------------


def damages():
    """Every part of a batch's file flipped, and cut off at every part."""
    for place in (0, 7, 8, 23, 24, 27, 28, 60, 150, 200, 5000, -1):
        yield (
            f"flip {place}",
            lambda content, i=place: content[:i] + bytes([content[i] ^ 1]) + content[i:][1:],
        )
    for length in (0, 4, 8, 20, 26, 28, 100, 5000):
        yield f"cut to {length}", lambda content, n=length: content[:n]
    yield "longer", lambda content: content + b"x"
    yield "other", lambda content: b"#!/bin/sh\n"
    yield "no value", lambda content: content[:28] + b"0" + content[29:]
    yield "a list without items", lambda content: content[:28] + b"[\1\0\0\x000" + content[34:]


@pytest.mark.parametrize("damage", [pytest.param(d, id=name) for name, d in damages()])
def test_a_damaged_batch_is_deleted_and_written_again(cache, damage):
    cache.publish(BATCH)
    (path,) = files(cache, "batch-*")
    path.write_bytes(damage(path.read_bytes()))
    reader = again(cache)
    assert reader.find(NAMES[0]) is None
    assert not path.exists()
    assert reader.find(NAMES[1]) is None
    reader.publish(BATCH)
    assert again(cache).find(NAMES[0]) == BATCH


@pytest.mark.parametrize("damage", [pytest.param(d, id=name) for name, d in damages()])
def test_a_damaged_batch_has_no_environment_and_is_evicted(cache, monkeypatch, damage):
    cache.publish(BATCH)
    (path,) = files(cache, "batch-*")
    path.write_bytes(damage(path.read_bytes()))
    assert cache_folder.environment_of(cache.folder, NAMES[0]) is None
    monkeypatch.setattr(jt.config, "_cache_size", 1)
    cache_folder.drop_oldest(cache.root)
    assert not path.exists()


@pytest.mark.parametrize(
    "content", [b"", b"batch-", b"../../etc/passwd", b"batch-" + b"0" * 32, b"\xff" * 38]
)
def test_a_damaged_pointer_is_deleted(cache, content):
    cache.publish(BATCH)
    pointer = cache.folder / NAMES[0]
    pointer.write_bytes(content)
    assert cache.find(NAMES[0]) is None
    assert cache.find(NAMES[1]) == BATCH
    cache.publish(BATCH)
    assert cache.find(NAMES[0]) == BATCH


def test_a_pointer_to_a_batch_without_the_kernel(cache):
    cache.publish(BATCH)
    (cache.folder / "k1111111111111111").write_bytes((cache.folder / NAMES[0]).read_bytes())
    assert cache.find("k1111111111111111") is None
    assert not (cache.folder / "k1111111111111111").exists()
    assert cache.find(NAMES[0]) == BATCH


# ---- the disk does not play along ------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("function", ["open", "replace", "fdopen"])
def test_an_error_on_writing_is_one_warning_and_no_cache(cache, monkeypatch, function, code):
    cache.publish(Batch(("driver",), b"code"))
    before = files(cache)

    def fail(*args, **kwargs):
        if function == "fdopen":
            os.close(args[0])
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(object_store.os, function, fail)
    with pytest.warns(jt.CacheWarning, match="JITTAPE_CACHE_DIR") as caught:  # noqa: PT031
        cache.publish(BATCH)
        cache.publish(BATCH)
        assert cache.find("driver") is None
    assert len(caught) == 1
    monkeypatch.undo()
    assert files(cache) == before
    assert again(cache).find("driver") == Batch(("driver",), b"code")


def test_a_disk_that_fills_while_a_file_is_written(cache, monkeypatch):
    class Full:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.file.close()

        def write(self, content):
            self.file.write(content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")

    fdopen = os.fdopen
    monkeypatch.setattr(object_store.os, "fdopen", lambda *args: Full(fdopen(*args)))
    with pytest.warns(jt.CacheWarning, match="No space left"):
        cache.publish(BATCH)
    assert files(cache) == []


def test_an_error_on_reading_deletes_nothing(cache, monkeypatch):
    cache.publish(BATCH)
    before = files(cache)

    def fail(path):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(object_store, "read_private", fail)
    with pytest.warns(jt.CacheWarning, match="Input/output error"):
        assert cache.find(NAMES[0]) is None
    assert files(cache) == before


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    cache = DiskCache(tmp_path / "file" / "cache", PARTS)
    with pytest.warns(jt.CacheWarning, match="not kept on disk"):
        cache.publish(BATCH)


def keep_nothing(cache: DiskCache) -> None:
    for _ in range(2):
        cache.publish(BATCH)
        assert cache.find(NAMES[0]) is None


@pytest.mark.parametrize("function", ["mkdir", "open", "replace"])
def test_what_may_not_be_written(cache, monkeypatch, function):
    """The system's refusals are imitated: root, whom a folder's mode does not stop, may run the tests."""

    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(object_store.os, function, refuse)
    with pytest.warns(jt.CacheWarning, match="Permission denied") as caught:
        keep_nothing(cache)
    assert len(caught) == 1
    monkeypatch.undo()
    assert files(cache) == []
    again(cache).publish(BATCH)
    assert again(cache).find(NAMES[0]) == BATCH


def test_a_cache_that_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("the user's own")
    cache = DiskCache(tmp_path / "file", PARTS)
    with pytest.warns(jt.CacheWarning, match=r"file is no folder\. Choose another folder") as caught:
        keep_nothing(cache)
    assert len(caught) == 1
    assert (tmp_path / "file").read_text() == "the user's own"
    assert cache_folder.summarize(tmp_path / "file").kernels == 0
    cache_folder.clear(tmp_path / "file")


@pytest.mark.parametrize("variable", ["JITTAPE_CACHE_DIR", "HOME"])
@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_process_without_a_place_for_the_cache_warns_once_at_the_users_line(
    tmp_path, monkeypatch, variable, place
):
    (tmp_path / "file").touch()
    for name in ("JITTAPE_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path / place))
    program = tmp_path / "program.py"
    program.write_text(REPORT)
    done = run_python(str(program))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["compiled"] > 0
    assert done.stderr.count("CacheWarning") == 1
    line = 1 + REPORT.splitlines().index("    float(gradient)")
    assert f"{program}:{line}: CacheWarning: compiled kernels are not kept on disk" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc")
def test_a_folder_that_the_system_does_not_create(tmp_path, monkeypatch):
    monkeypatch.setenv("JITTAPE_CACHE_DIR", "/proc/nope")
    program = tmp_path / "program.py"
    program.write_text(REPORT)
    done = run_python(str(program))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("CacheWarning") == 1
    assert "compiled kernels are not kept on disk: the folder /proc/nope cannot be created" in done.stderr


def test_a_home_of_nobody(monkeypatch):
    monkeypatch.setenv("JITTAPE_CACHE_DIR", "~nobody-of-that-name/cache")
    assert cache_directory() == Path.cwd() / "~nobody-of-that-name" / "cache"


# ---- other users -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="no such modes")
@pytest.mark.parametrize("which", ["root", "folder", "batch", "pointer"])
@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702])
def test_what_others_could_write_is_not_loaded(cache, which, mode):
    cache.publish(BATCH)
    place = {"root": cache.root, "folder": cache.folder, "pointer": cache.folder / NAMES[0]}
    place["batch"] = files(cache, "batch-*")[0]
    place[which].chmod(mode)
    with pytest.warns(jt.CacheWarning, match="others may write"):
        assert again(cache).find(NAMES[0]) is None
    assert place[which].exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no such owners")
@pytest.mark.parametrize("which", ["root", "folder", "batch", "pointer"])
def test_what_another_user_owns_is_not_loaded(cache, monkeypatch, which):
    cache.publish(BATCH)
    place = {"root": cache.root, "folder": cache.folder, "pointer": cache.folder / NAMES[0]}
    place["batch"] = files(cache, "batch-*")[0]
    owned_by_another = place[which].stat().st_ino
    private = private_files.is_private

    def seen(found):
        values = list(found)
        if found.st_ino == owned_by_another:
            values[stat.ST_UID] = os.geteuid() + 1
        return private(os.stat_result(values))

    monkeypatch.setattr(private_files, "is_private", seen)
    monkeypatch.setattr(object_store, "is_private", seen)
    with pytest.warns(jt.CacheWarning, match="belongs to another user"):
        assert again(cache).find(NAMES[0]) is None


# ---- the budget ------------------------------------------------------------------------------------------------------


def test_what_was_used_longest_ago_goes_first(cache, monkeypatch):
    names = [f"k{i:016x}" for i in range(8)]
    for age, name in enumerate(reversed(names)):
        cache.publish(Batch((name,), bytes([age]) * 50_000))
        path = cache.folder / (cache.folder / name).read_text()
        os.utime(path, (1_000_000 - 1000 * age,) * 2)
    assert again(cache).find(names[1]) is not None  # the next oldest, used again
    monkeypatch.setattr(jt.config, "_cache_size", 5 * 60_000)
    again(cache).publish(Batch(("driver",), b"code"))
    left = [name for name in names if again(cache).find(name) is not None]
    assert names[1] in left
    assert names[0] not in left
    assert names[2] not in left
    assert names[7] in left
    assert cache_folder.summarize(cache.root).nbytes <= 5 * 60_000
    assert cache_folder.summarize(cache.root).kernels == len(left) + 1


def test_what_a_killed_writer_left_goes_after_an_hour(cache):
    cache.publish(BATCH)
    old, new = cache.folder / "temporary-1-0", cache.folder / "temporary-2-0"
    for path in (old, new):
        path.touch()
    os.utime(old, (time.time() - 4000,) * 2)
    again(cache).publish(BATCH)
    assert not old.exists()
    assert new.exists()


# ---- processes -------------------------------------------------------------------------------------------------------

STEPS = """
import sys
import numpy as np
import jittape as jt

x = np.linspace(-1, 1, 100)
m = jt.Variable(np.float64(0.5))
for step in range(3):
    with jt.GradientTape() as tape:
        loss = jt.reduce_mean(jt.square(jt.tanh(m * x) - jt.exp(x)))
    gradient = tape.gradient(loss, m)
    float(gradient)
"""
REPORT = STEPS + """
import json
stats = jt.stats()
print(json.dumps({
    "compiled": stats.kernels, "loaded": stats.kernels_loaded, "gradient": float(gradient).hex(),
    "numba": "numba" in sys.modules,
}))
"""  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def report(before: str = "") -> dict:
    done = run_python("-W", "error", "-c", before + REPORT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_second_process_compiles_nothing_and_needs_no_numba(folder):
    first, second = report(), report()
    assert first["compiled"] > 0
    assert first["loaded"] == 0
    assert second == first | {"compiled": 0, "loaded": first["compiled"], "numba": False}


COMPILED_FUNCTION = """
import json, sys
import numpy as np
import jittape as jt
from jittape.compile.llvm import target

jt.config.threads = 1
compiled = []
compile_module = target.compile_module
target.compile_module = lambda module: compiled.append(module) or compile_module(module)
function = jt.function(lambda x: jt.reduce_sum(x * x))
values = [float(function(np.arange(3.0))) for call in range(40)]
print(json.dumps([values, len(compiled), "numba" in sys.modules, function._recent is not None]))
"""


def test_a_second_process_compiles_nothing_for_a_function_either(folder):
    first, second = (json.loads(run_python("-c", COMPILED_FUNCTION).stdout) for _ in range(2))
    # What runs around kernels, the kernels, and the argument marshaller of a function that is called often.
    assert first == [[5.0] * 40, 3, False, True]
    assert second == [[5.0] * 40, 0, False, True]


def test_an_empty_variable_turns_the_cache_off(monkeypatch):
    monkeypatch.setenv("JITTAPE_CACHE_DIR", "")
    assert cache_directory() is None
    assert report()["compiled"] == report()["compiled"] > 0


def test_the_setting_turns_the_cache_off(folder, monkeypatch):
    monkeypatch.setattr(jt.config, "_cache", False)
    assert object_store.current() is None


@pytest.mark.parametrize("damage", [lambda code: code[:-100], lambda code: b"", lambda code: b"x" * 100])
def test_a_kernel_that_does_not_load_is_compiled_again(folder, damage):
    """The checksum is right, the object file is not."""
    first = report()
    (environment,) = folder.glob("v1-*")
    found = DiskCache(folder, object_store.current().parts)
    assert found.folder == environment
    for path in files(found, "batch-*"):
        batch = found.read_batch(path.name)
        found.discard(batch.names[0])
        found.publish(Batch(batch.names, damage(batch.code)))
    damaged = files(found, "batch-*")
    assert report() == first
    assert not any(path.exists() for path in damaged)
    assert report()["compiled"] == 0


def test_a_kernel_that_needs_what_nobody_has_is_compiled_again(folder):
    first = report()
    found = DiskCache(folder, object_store.current().parts)
    batch = found.find("driver")
    assert batch.code.count(b"PyLong_AsVoidPtr\0") == 1
    found.publish(Batch(batch.names, batch.code.replace(b"PyLong_AsVoidPtr\0", b"PyLong_AsNothing\0")))
    assert b"PyLong_AsVoidPtr\0" not in found.find("driver").code
    assert report()["gradient"] == first["gradient"]
    assert b"PyLong_AsVoidPtr\0" in found.find("driver").code


def test_eight_processes_at_once_on_an_empty_cache(folder):
    path = os.pathsep.join([SOURCE, *filter(None, [os.environ.get("PYTHONPATH")])])
    running = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", REPORT],
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path},
        )
        for _ in range(8)
    ]
    reports = [json.loads(process.communicate()[0]) for process in running]
    assert [process.returncode for process in running] == [0] * 8
    assert len({r["gradient"] for r in reports}) == 1
    assert report()["compiled"] == 0
    assert not list(folder.glob("*/temporary-*"))


CROWD = """
import random, sys
from pathlib import Path
import jittape as jt
from jittape.compile.cache.batch_file import Batch
from jittape.compile.cache.cache_folder import clear
from jittape.compile.cache.object_store import DiskCache

jt.config.cache_size = 200_000
root, seed = Path(sys.argv[1]), int(sys.argv[2])
draw = random.Random(seed)
for _ in range(300):
    cache = DiskCache(root, {"environment": draw.choice("ab")})
    number = draw.randrange(12)
    batch = Batch((f"k{number:016x}", "driver"), bytes([number]) * 20_000)
    cache.publish(batch)
    found = cache.find(f"k{draw.randrange(12):016x}")
    assert found is None or found.code == bytes([int(found.names[0][1:], 16)]) * 20_000
    if seed == 0 and draw.random() < 0.05:
        clear(root)
"""


def test_a_crowd_that_writes_reads_drops_and_clears(tmp_path):
    """No warning (they are errors here), no exception, and never another batch's code."""
    environment = os.environ | {"PYTHONPATH": SOURCE}
    command = [sys.executable, "-W", "error", "-c", CROWD, str(tmp_path / "cache")]
    running = [subprocess.Popen([*command, str(seed)], env=environment) for seed in range(4)]
    assert [process.wait() for process in running] == [0] * 4


KILLED = """
import os, signal
from jittape.compile.cache import object_store, private_files

function = os.{function}
def kill(*args):
    {before}
    os.kill(os.getpid(), signal.SIGKILL)
calls = 0
def counted(*args):
    global calls
    calls += 1
    return kill(*args) if calls == {call} else function(*args)
object_store.os.{function} = counted
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("call", [1, 2, 3])
@pytest.mark.parametrize(
    ("function", "before"),
    [("open", "function(*args)"), ("fdopen", "function(*args).write(b'half')"), ("replace", "pass")],
)
def test_a_writer_killed_before_it_publishes(folder, function, before, call):
    """The batch is the first file that is published, pointers the next."""
    killed = run_python("-c", KILLED.format(function=function, before=before, call=call) + STEPS)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(folder.glob("*/temporary-*"))) == 1
    first = report()
    assert first["compiled"] > 0 or call > 1
    second = report()
    assert second["compiled"] == 0
    assert second["gradient"] == first["gradient"]


# ---- the registry ----------------------------------------------------------------------------------------------------


def origins_of(monkeypatch, registry, function):
    """Where the kernels of `function` come from, if all that a process has is in `registry`."""
    monkeypatch.setattr(executable_module, "registry", registry)
    x = np.linspace(0.1, 1, 5)
    program = program_of(function, x)
    compiled = executable_module.CompiledExecutable(program, frozenset())
    (result,) = compiled.run([owned(x)])
    np.testing.assert_allclose(result.array, interpret(program, (x,))[0], rtol=1e-14)
    return [kernel.origin for kernel in compiled.kernels]


def test_two_batches_with_the_same_function_can_both_be_loaded(folder, monkeypatch):
    """Two processes start at the same time and both compile the driver; a third meets what both wrote."""
    for function in (exp, sqrt):
        assert origins_of(monkeypatch, Registry(), function) == [Origin.COMPILED]
        (driver,) = folder.glob("*/driver")
        driver.unlink()
    third = Registry()
    assert [origins_of(monkeypatch, third, f) for f in (exp, sqrt, exp)] == [
        [Origin.DISK],
        [Origin.DISK],
        [Origin.MEMORY],
    ]
    assert third.stats()[:3] == (0, 1, 2)


def test_a_primitive_of_the_users_own_is_not_kept(folder, monkeypatch):
    """Its kernel goes by the primitive's name, and what that computes may be another tomorrow."""
    for factor in (2.0, 3.0):
        form = Map(lambda m, x, factor=factor: factor * x)
        own = Primitive("own", same_float("own"), lambda x, factor=factor: factor * x, lowering=form)
        for _ in range(2):
            assert origins_of(monkeypatch, Registry(), own.bind) == [Origin.COMPILED]


def test_many_kernels_go_to_several_batches(folder, monkeypatch, override_tuning):
    override_tuning(module_functions_limit=2)
    monkeypatch.setattr(jt.config, "_threads", 1)
    program = program_of(lambda x: [f(g(x)) for f in (exp, sqrt) for g in (exp, sqrt)], np.ones(3))
    kernels = []
    for output in program.outputs:
        single = schedule(simplify(replace(program, outputs=(output,))))
        kernels += [step.kernel for step in single.steps]
    assert Registry().addresses(kernels)[1] == {k.name: Origin.COMPILED for k in kernels}
    count, batches = cache_folder.summarize(folder)[:2]
    assert count == 5
    assert batches in (3, 4)  # four if the driver, whose effort is another one, gets the share of a kernel
    assert Registry().addresses(kernels)[1] == {k.name: Origin.DISK for k in kernels}


# ---- object files ----------------------------------------------------------------------------------------------------

TEXT = """
declare double @sin(double)
declare float @a_function_with_a_long_name(float)
define double @f(double %x) {
  %y = call double @sin(double %x)
  %z = fptrunc double %y to float
  %u = call float @a_function_with_a_long_name(float %z)
  %v = fpext float %u to double
  ret double %v
}
"""


@pytest.mark.parametrize("system", ["unknown-linux-gnu", "apple-darwin", "pc-windows-msvc"])
def test_undefined_symbols_of_every_kind_of_object_file(system):
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(f"x86_64-{system}").create_target_machine()
    code = target.emit_object(llvm.parse_assembly(TEXT))
    needed = {"sin", "a_function_with_a_long_name"}
    # Windows' compilers mark a module that uses floating point.
    assert set(undefined_symbols(code)) - {"_fltused"} == needed
    for length in (0, 10, 60, 100):
        with pytest.raises(ValueError, match="object file"):
            undefined_symbols(code[:length])


def test_code_that_needs_what_nobody_has_is_refused_before_it_is_loaded():
    code = target._new_target(0).emit_object(llvm.parse_assembly(TEXT))
    with pytest.raises(
        jt.CompileError, match="undefined symbols in compiled code: a_function_with_a_long_name"
    ):
        CodeGroup().load(code, ["f"])


def test_ir_that_llvm_does_not_accept():
    module = ir.Module()
    ir.Function(module, ir.FunctionType(ir.VoidType(), []), "f").append_basic_block("open")
    with pytest.raises(jt.CompileError, match="LLVM rejects"):
        target.object_code(module)


# ---- where it is, and the command line -------------------------------------------------------------------------------


def test_the_users_own_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("JITTAPE_CACHE_DIR")
    monkeypatch.setattr(object_store.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "jittape"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", "/home/ada")
    assert cache_directory() == Path("/home/ada/.cache/jittape")
    monkeypatch.setattr(object_store.sys, "platform", "darwin")
    assert cache_directory() == Path("/home/ada/Library/Caches/jittape")


def test_command_line(folder, capsys):
    DiskCache(folder, PARTS).publish(BATCH)
    mine = folder / "thesis.tex"
    mine.touch()
    (folder / "v1-0000").mkdir()
    assert main(["cache", "path"]) == 0
    assert capsys.readouterr().out.strip() == str(folder)
    assert main(["cache", "info"]) == 0
    said = capsys.readouterr().out
    assert "2 in 1 files" in said
    assert "512 MB at most" in said
    assert "llvmlite" in said
    assert main(["cache", "clear"]) == 0
    assert "2 kernels deleted" in capsys.readouterr().out
    assert sorted(folder.iterdir()) == [mine, folder / "v1-0000"]
    assert main(["cache", "clear"]) == 0


@pytest.mark.parametrize("action", ["path", "info", "clear"])
def test_command_line_without_a_cache(monkeypatch, capsys, action):
    monkeypatch.setenv("JITTAPE_CACHE_DIR", "")
    assert main(["cache", action]) == 1
    assert "turned off" in capsys.readouterr().err


# ---- settings --------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("new_step")
@pytest.mark.parametrize("visits", [0, 1, 3])
def test_compile_after(visits, monkeypatch):
    monkeypatch.setattr(jt.config, "_compile_after", visits)
    x = jt.constant(np.ones((2,) * (3 + visits)))
    before = jt.stats()
    for _ in range(4):
        jt.sin(x * 0.5).numpy()
    after = jt.stats()
    assert after.interpreted_runs - before.interpreted_runs == visits
    assert after.compiled_runs - before.compiled_runs == 4 - visits


def sum_of_loop(trips: int, inner: int, x: jt.Tensor) -> jt.Tensor:
    def body(i, total):
        return jt.fori_loop(0, inner, lambda j, y: y + x, total)

    return jt.reduce_sum(jt.fori_loop(0, trips, body, x))


@pytest.mark.usefixtures("new_step")
@pytest.mark.parametrize(("trips", "inner"), [(40, 1), (25, 2), (2, 25), (7, 7)])
def test_a_program_with_long_loops_is_compiled_at_once(trips, inner, override_tuning):
    x = jt.constant(np.ones(3 * trips + inner))
    expected = x.shape[0] * (trips * inner + 1)
    before = jt.stats()
    override_tuning(interpreted_loop_ops=trips * inner - 1)
    assert float(sum_of_loop(trips, inner, x)) == expected
    assert jt.stats().interpreted_runs == before.interpreted_runs
    override_tuning(interpreted_loop_ops=20 * trips * inner)
    assert float(sum_of_loop(trips, inner, x[1:])) == expected - trips * inner - 1
    assert jt.stats().interpreted_runs == before.interpreted_runs + 1


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("compile_after", -1, ValueError),
        ("compile_after", 1.5, TypeError),
        ("cache", 1, TypeError),
        ("cache_size", 0, ValueError),
    ],
)
def test_settings_are_checked(name, value, error):
    with pytest.raises(error, match=name):
        setattr(jt.config, name, value)
