"""Loading of object files without LLVM, and processes with a filled cache, which never load it."""

import ctypes
import math
import os
import platform
import struct
import sys

import llvmlite.binding as llvm
import pytest

from jittape.compile.cache import environment as environment_module
from jittape.compile.cache import fingerprint
from jittape.compile.llvm import host_processor, target
from jittape.compile.llvm.elf_image import load_image
from jittape.compile.llvm.loaded_code import CodeGroup
from jittape.compile.llvm.symbols import address_of
from processes import run_python

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="LLVM loads code there"
)

ADD = """
@numbers = internal constant [4 x double] [double 1.0, double 2.0, double 4.0, double 8.0]
declare double @cos(double)
define double @number(i64 %i) {
  %place = getelementptr [4 x double], [4 x double]* @numbers, i64 0, i64 %i
  %y = load double, double* %place
  ret double %y
}
define double @cosine(double %x) {
  %y = call double @cos(double %x)
  %z = fadd double %y, 0.5
  ret double %z
}
"""
COUNTER = """
@count = global i64 0
define i64 @next() {
  %old = load i64, i64* @count
  %new = add i64 %old, 1
  store i64 %new, i64* @count
  ret i64 %new
}
"""


def compiled(text: str, **options: str) -> bytes:
    """Return an object file, as jittape's own by default."""
    module = llvm.parse_assembly(text)
    if not options:
        return target._new_target(1).emit_object(module)
    machine = target._target_kind().create_target_machine(**options)
    return machine.emit_object(module)


def functions_of(addresses: list[int]) -> tuple[ctypes._CFuncPtr, ctypes._CFuncPtr]:
    number, cosine = addresses
    kinds = (
        ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64),
        ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double),
    )
    return kinds[0](number), kinds[1](cosine)


def test_constants_and_calls_of_the_c_library() -> None:
    image = load_image(compiled(ADD), address_of)
    assert image is not None
    number, cosine = functions_of([image.addresses["number"], image.addresses["cosine"]])
    assert [number(i) for i in range(4)] == [1, 2, 4, 8]
    assert cosine(0.0) == 1.5
    image.unload()


def test_llvm_loads_what_the_loader_does_not_know() -> None:
    code = compiled(ADD, reloc="pic", codemodel="small")
    assert load_image(code, address_of) is None
    group = CodeGroup()
    number, cosine = functions_of(group.load(code, ["number", "cosine"]))
    assert (number(3), cosine(0.0)) == (8, 1.5)
    group.unload()


def test_code_with_memory_of_its_own_is_left_to_llvm() -> None:
    code = compiled(COUNTER)
    assert load_image(code, address_of) is None
    group = CodeGroup()
    (address,) = group.load(code, ["next"])
    count = ctypes.CFUNCTYPE(ctypes.c_int64)(address)
    assert [count(), count()] == [1, 2]
    group.unload()


def test_an_unknown_symbol_and_other_files_are_left_to_llvm() -> None:
    code = compiled(ADD)
    assert load_image(code, lambda name: None) is None
    assert load_image(b"", address_of) is load_image(b"MZ" + code, address_of) is None


def test_a_shortened_file_is_never_loaded() -> None:
    code = compiled(ADD)
    for length in range(8, len(code)):
        with pytest.raises((struct.error, IndexError, ValueError)):
            load_image(code[:length], address_of)


def test_memory_cannot_be_written_and_is_freed() -> None:
    image = load_image(compiled(ADD), address_of)
    assert image is not None

    def mapped() -> list[str]:
        with open("/proc/self/maps", encoding="ascii") as file:
            ranges = [line.split()[:2] for line in file]
        return [mode for span, mode in ranges if contains(span)]

    def contains(span: str) -> bool:
        first, last = (int(word, 16) for word in span.split("-"))
        return first <= image.start < last

    assert mapped() == ["r-xp"]
    image.unload()
    assert mapped() == []


# ---- a filled cache --------------------------------------------------------------------------------------------------

PROGRAM = """
import sys
import numpy as np
import jittape as jt

x = np.linspace(-1, 1, 100, dtype=np.float32)
m, b = jt.Variable(0.0), jt.Variable(0.0)
for step in range(3):
    with jt.GradientTape() as tape:
        loss = jt.reduce_mean(jt.square(m * x + b - (3 * x + 2)))
    dm, db = tape.gradient(loss, [m, b])
    m.assign_sub(0.05 * dm)
    b.assign_sub(0.05 * db)
    print(float(loss))
print("llvmlite" in sys.modules, "numba" in sys.modules, "scipy" in sys.modules)
unused = tuple(f"jittape.compile.{name}" for name in ("analysis", "fuse", "kernels", "lower", "rewrite"))
unused += "jittape.numpy_api.numpy_functions", "jittape.autodiff.forward", "jittape.control", "jittape.flow"
unused += "jittape.primitives.indexing.", "jittape.primitives.linalg.", "jittape.primitives.reduce.cumulative"
unused += "jittape.primitives.shape.joining", "jittape.recording.general.general_path", "jittape.autodiff.splice"
print([name for name in sys.modules if name.startswith(unused)])
"""


LOOP_AND_FUNCTION = """
import sys
import numpy as np
import jittape as jt
from jittape.native import switch

x, w = np.linspace(-1, 1, 100), jt.Variable(np.ones(100))

def step():
    with jt.GradientTape() as tape:
        loss = jt.reduce_sum(np.exp(w * x)[3:] ** 2)
    w.assign_sub(0.001 * tape.gradient(loss, w))
    return loss

for _ in range(400):
    last = float(step())
print(last)
compiled = jt.function(step)
for _ in range(4):
    last = float(compiled())
print(last)
print(switch.is_used())
print("llvmlite" in sys.modules, "numba" in sys.modules, "scipy" in sys.modules)
"""

PRODUCT = """
import sys
import numpy as np
import jittape as jt

x, w = np.linspace(-1, 1, 100).reshape(10, 10), jt.Variable(np.eye(10))
for step in range(3):
    with jt.GradientTape() as tape:
        loss = jt.reduce_sum(jt.tanh(x @ w) ** 2)
    w.assign_sub(0.05 * tape.gradient(loss, w))
    print(float(loss))
print("llvmlite" in sys.modules, "numba" in sys.modules, "scipy" in sys.modules)
"""


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the sources be old, although somebody may be editing them."""
    monkeypatch.setattr(environment_module, "_SETTLED_SECONDS", -1e9)


def run(cache: str, program: str = PROGRAM) -> list[str]:
    text = "from jittape.compile.cache import environment\nenvironment._SETTLED_SECONDS = -1e9\n" + program
    done = run_python("-c", text, JITTAPE_CACHE_DIR=cache)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")


@pytest.mark.parametrize(
    "program", [PROGRAM, LOOP_AND_FUNCTION, PRODUCT], ids=["tape", "loop and function", "matrix product"]
)
def test_a_process_with_a_filled_cache_never_loads_llvm(tmp_path, program: str) -> None:
    first, second = (run(str(tmp_path / "cache"), program) for _ in range(2))
    assert first[:3] == second[:3]
    assert first[3] == "True False False"
    assert second[3] == "False False False"
    assert second[4] in ("", "[]")  # only `PROGRAM` lists the modules that it imports in vain


@pytest.mark.parametrize(
    "damage", [lambda code: code[:-1], lambda code: b"", lambda code: code[:-9] + b'+avx1024"']
)
def test_a_damaged_file_about_the_host_is_ignored(tmp_path, damage) -> None:
    folder = tmp_path / "cache"
    first = run(str(folder))
    (path,) = folder.glob("host-*")
    path.write_bytes(damage(path.read_bytes()))
    os.chmod(path, 0o600)
    second = run(str(folder))
    assert first[:3] == second[:3]
    assert second[3] == "True False False"
    assert len(list(folder.glob("v1-*"))) == 1


def test_a_file_about_the_host_that_others_may_write_is_ignored(tmp_path) -> None:
    folder = tmp_path / "cache"
    run(str(folder))
    (path,) = folder.glob("host-*")
    path.chmod(0o666)
    assert run(str(folder))[3] == "True False False"


def test_a_lost_file_about_the_host_is_written_again(tmp_path) -> None:
    """As after an update of the system: the kernels stay the same, and nothing is compiled."""
    folder = tmp_path / "cache"
    run(str(folder))
    (path,) = folder.glob("host-*")
    path.unlink()
    assert [run(str(folder))[3] for _ in range(2)] == ["True False False", "False False False"]


def test_the_file_has_what_llvm_says(settled: None) -> None:
    found = environment_module.host_content()
    assert found is not None
    sources = environment_module._remembered(found)
    assert sources == fingerprint.source_digest()
    assert host_processor._found == host_processor._measured()


def test_a_changed_source_has_another_file(tmp_path, monkeypatch) -> None:
    package = tmp_path / "jittape"
    for name in fingerprint.SOURCES:
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".py"):
            path.write_text("a = 1\n")
        else:
            path.mkdir()
    (package / "core" / "below").mkdir()
    (package / "core" / "below" / "one.py").write_text("a = 1\n")
    monkeypatch.setattr(fingerprint, "_PACKAGE", str(package))
    seen = {fingerprint.source_times()[0], fingerprint.source_times()[0]}
    assert len(seen) == 1
    (package / "core" / "below" / "one.py").write_text("a = 22\n")
    seen.add(fingerprint.source_times()[0])
    (package / "core" / "two.py").write_text("")
    seen.add(fingerprint.source_times()[0])
    (package / "core" / "two.py").unlink()
    os.utime(package / "core" / "below" / "one.py", ns=(1, 1))
    seen.add(fingerprint.source_times()[0])
    assert len(seen) == 4


def test_the_sources_are_looked_at_when_a_module_may_have_been_loaded(monkeypatch) -> None:
    looks: list[int] = []

    def times() -> tuple[str, float]:
        looks.append(len(looks))
        return first if len(looks) < 3 else ("changed", 0.0)

    first = environment_module._first_times()
    monkeypatch.setattr(environment_module, "_last_look", [-math.inf, 0])
    monkeypatch.setattr(environment_module, "_LOOK_SECONDS", 1e9)
    monkeypatch.setattr(environment_module, "source_times", times)
    assert all(environment_module.is_unchanged() for _ in range(3))
    assert len(looks) == 1
    monkeypatch.setitem(sys.modules, "loaded_meanwhile", None)
    assert all(environment_module.is_unchanged() for _ in range(3))
    assert len(looks) == 2
    monkeypatch.setattr(environment_module, "_LOOK_SECONDS", 0.0)
    assert not environment_module.is_unchanged()
    monkeypatch.setattr(environment_module, "_LOOK_SECONDS", 1e9)
    monkeypatch.setitem(sys.modules, "loaded_later", None)
    assert not environment_module.is_unchanged()
    assert not environment_module.is_unchanged()


def test_sources_that_have_just_changed_are_not_remembered(monkeypatch) -> None:
    monkeypatch.setattr(environment_module, "_SETTLED_SECONDS", 1e12)
    assert environment_module.host_content() is None
