"""Imports between modules and packages follow the listing and the tables of docs/architecture.rst."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path

import pytest

import jittape
from processes import run_python

ROOT = Path(jittape.__file__).parent
ARCHITECTURE = Path(__file__).parent.parent / "docs" / "architecture.rst"
FILES_IN_A_FOLDER = 24
"""Maximum number of files in one folder."""


def module_name(path: Path) -> str:
    """``primitives/shape/reshaping.py`` -> ``primitives.shape``; a package's ``__init__.py`` -> the package."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def block(begin: str, end: str) -> list[str]:
    """Return the lines of the text block between two comments of the page."""
    page = ARCHITECTURE.read_text(encoding="utf-8")
    found = re.search(rf"^\.\. {begin}$.*?text$(.*?)^\.\. {end}$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1].splitlines()


def documented_order() -> list[str]:
    """The modules as the page lists them; a package itself stands right after the last row of its files."""
    order: list[str] = []
    package = ""
    for line in block("house: begin", "house: end"):
        names = line.partition("#")[0].split()
        if package and not line.startswith(" " * 8):
            order = [name for name in order if name != package]
            order.append(package)
            package = ""
        if names and names[0].endswith("/"):
            package = names[0].rstrip("/").replace("/", ".")
        else:
            order += [f"{package}.{name}" if package else name for name in names]
    return order


def documented_rules() -> dict[str, dict[str, list[str]]]:
    """Return the tables of the page: folder -> member -> what the member may import; names are dotted.

    The key of the table of the whole package is the empty string. A star stands for all rows above.
    """
    tables: dict[str, dict[str, list[str]]] = {}
    for line in block("house: rules", "house: end of rules"):
        if line.endswith("/"):
            folder = "" if line.strip() == "jittape/" else line.strip(" /").replace("/", ".")
            tables[folder] = {}
        elif line.strip():
            member, allowed = line.split("<-")
            names = allowed.replace("/", ".").split()
            tables[folder][member.strip()] = list(tables[folder]) if names == ["*"] else names
    return tables


FILES = {module_name(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}
ORDER = documented_order()
POSITION = {name: position for position, name in enumerate(ORDER)}
RULES = documented_rules()


def is_type_checking(node: ast.AST) -> bool:
    """An ``if TYPE_CHECKING:`` block, which is never run."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def import_nodes(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import statement that can run, those inside functions too."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif is_type_checking(child):
            for alternative in child.orelse:
                yield from import_nodes(ast.Module([alternative], []))
        else:
            yield from import_nodes(child)


def imports_for_types(source: str) -> list[ast.Import | ast.ImportFrom]:
    """Every import statement that only type checkers read."""
    tree = ast.parse(source)
    run = {node.lineno for node in import_nodes(tree)}
    every = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return [node for node in every if node.lineno not in run]


def imported_names(source: str, importer: str) -> Iterator[str]:
    """The modules of the package that `source` imports, by their names in `ORDER`."""
    return modules_of(import_nodes(ast.parse(source)), importer)


def modules_of(nodes: Iterable[ast.Import | ast.ImportFrom], importer: str) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            dotted = [alias.name for alias in node.names]
        else:
            assert node.level == 0, f"{importer}:{node.lineno}: relative imports are not used here"
            # "from jittape.primitives import shape" imports the module, "... import Op" the package.
            dotted = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in dotted:
            if name.split(".")[0] == "jittape":
                yield longest_module(name.split(".")[1:])


def longest_module(parts: list[str]) -> str:
    for end in range(len(parts), 0, -1):
        if ".".join(parts[:end]) in POSITION:
            return ".".join(parts[:end])
    return "__init__"


@cache
def imports_of(name: str) -> list[str]:
    return list(imported_names(FILES[name].read_text(encoding="utf-8"), name))


def violations(imported: Iterable[str], importer: str) -> list[str]:
    return [name for name in imported if POSITION[name] >= POSITION[importer]]


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def is_allowed(importer: str, imported: str) -> bool:
    """Return whether all tables that have both modules allow the import."""
    for folder, rows in RULES.items():
        prefix = f"{folder}." if folder else ""
        if not (importer.startswith(prefix) and imported.startswith(prefix)):
            continue
        source, target = importer.removeprefix(prefix), imported.removeprefix(prefix)
        source_member, target_member = source.split(".")[0], target.split(".")[0]
        allowed = rows.get(source_member, [])
        ruled = source_member != target_member and target_member in rows
        if ruled and not any(is_within(target, name) for name in allowed):
            return False
    return True


def forbidden(imported: Iterable[str], importer: str) -> list[str]:
    return [name for name in imported if not is_allowed(importer, name)]


def test_the_page_names_every_file_once():
    assert sorted(ORDER) == sorted(FILES), "a file came or went: say in docs/architecture.rst where it stands"


@pytest.mark.parametrize("folder", RULES)
def test_a_row_refers_to_rows_above_it(folder):
    rows = list(RULES[folder])
    for position, (member, allowed) in enumerate(RULES[folder].items()):
        below = [name for name in allowed if name.split(".")[0] not in rows[:position]]
        assert not below, f"{folder}/{member} may import {below}, which is not above it"


@pytest.mark.parametrize("folder", RULES)
def test_every_package_has_a_row(folder):
    root = ROOT / folder.replace(".", "/")
    packages = {path.parent.name for path in root.glob("*/__init__.py")}
    modules = {path.stem for path in root.glob("*.py")}
    assert packages <= set(RULES[folder]) <= packages | modules


def test_imports_follow_the_rules_between_packages():
    found = {name: forbidden(imports_of(name), name) for name in FILES}
    found = {name: names for name, names in found.items() if names}
    assert found == {}, "see the rules in docs/architecture.rst"


def test_the_rules_allow_no_import_that_does_not_exist():
    imports = [(name, imported) for name in FILES for imported in imports_of(name)]
    unused = []
    for folder, rows in RULES.items():
        for member, allowed in rows.items():
            for name in allowed if member != "__init__" else ():
                source, target = f"{folder}.{member}".lstrip("."), f"{folder}.{name}".lstrip(".")
                if not any(is_within(a, source) and is_within(b, target) for a, b in imports):
                    unused.append(f"{source} <- {target}")
    assert unused == [], "remove it from the rules in docs/architecture.rst"


@pytest.mark.parametrize(
    ("importer", "source", "found"),
    [
        ("compile.fuse.partition", "from jittape.runtime import executable", ["runtime.executable"]),
        ("compile.fuse.partition", "import jittape.compile.schedule", ["compile.schedule"]),
        ("compile.fuse.partition", "from jittape.compile.fuse import join_sums", []),
        ("compile.kernels.gemm.gemv", "import jittape.compile.kernels.tiled", ["compile.kernels.tiled"]),
        ("compile.kernels.gemm.gemv", "from jittape.compile.ir.kernel import Kernel", []),
        ("primitives.broadcast", "from jittape.primitives import shape", ["primitives.shape"]),
        ("primitives.shape.views", "from jittape.primitives.broadcast import broadcast", []),
        ("functions.function", "from jittape.compile.cache.kernel_cache import get", []),
        ("functions.function", "import jittape.compile.schedule.steps", ["compile.schedule.steps"]),
        ("optimizers.adam", "def f():\n    import jittape.compile", ["compile"]),
        ("optimizers.adam", "from jittape.errors import NoGradientError", []),
        ("errors", "from jittape.core import config", ["core.config"]),
        ("nn.layers", "import jittape", ["__init__"]),
        ("demo.digits", "import jittape", []),
        ("__init__", "from jittape.optimizers import Adam", []),
    ],
)
def test_a_forbidden_import_is_seen(importer, source, found):
    assert forbidden(imported_names(source, importer), importer) == found


def test_no_module_name_occurs_twice():
    names = Counter(path.stem for path in FILES.values() if path.stem not in ("__init__", "__main__"))
    assert [name for name, times in names.items() if times > 1] == []


def test_no_folder_has_too_many_files():
    sizes = Counter(path.relative_to(ROOT).parent.as_posix() for path in FILES.values())
    too_many = {folder: n for folder, n in sizes.items() if n > FILES_IN_A_FOLDER}
    assert too_many == {}


def test_imports_go_upward_only():
    found = {name: violations(imports_of(name), name) for name in FILES}
    found = {name: below for name, below in found.items() if below}
    assert not found, f"imports of modules that stand below the importer: {found}"


def types_below(source: str, importer: str) -> list[str]:
    """The modules below the importer from which it imports types."""
    return sorted(set(violations(modules_of(imports_for_types(source), importer), importer)))


def test_imports_of_types_go_upward_only():
    """So neither modules nor their annotations refer to each other in a circle, but for the rows of the page."""
    found = {name: types_below(path.read_text(encoding="utf-8"), name) for name, path in FILES.items()}
    rows = [line.split("<-") for line in block("house: types", "house: end of types") if line.strip()]
    allowed = {name.strip(): sorted(names.split()) for name, names in rows}
    assert {name: below for name, below in found.items() if below} == allowed


def test_an_import_of_types_is_seen():
    source = "if TYPE_CHECKING:\n    from jittape.core.interpret import run\nimport jittape.autodiff.tape"
    assert types_below(source, "core.primitive") == ["core.interpret"]
    assert types_below(source, "functions.function") == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from jittape.core.program import Op", []),
        ("import jittape.autodiff.tape", ["autodiff.tape"]),
        ("from jittape.autodiff.tape import GradientTape", ["autodiff.tape"]),
        ("from jittape.autodiff import tape", ["autodiff.tape"]),
        ("import jittape", ["__init__"]),
        ("from jittape import Variable", ["__init__"]),
        (
            "def f():\n    try:\n        from jittape.core import interpret\n    finally:\n        pass",
            ["core.interpret"],
        ),
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from jittape.core.interpret import run",
            [],
        ),
        ("if TYPE_CHECKING:\n    pass\nelse:\n    import jittape.core.interpret", ["core.interpret"]),
        ("import numpy, jittapes", []),
    ],
)
def test_a_violation_is_seen(source, found):
    assert violations(imported_names(source, "core.primitive"), "core.primitive") == found


def exported(tree: ast.Module) -> set[str] | None:
    """Return the names in ``__all__``; None without one."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return {one.value for one in ast.walk(node.value) if isinstance(one, ast.Constant)}
    return None


def unlisted(trees: dict[str, ast.Module]) -> dict[str, list[str]]:
    """Return the names that each module should list: those that others import, and without ``__all__`` its own.

    A package may export by ``import x as x`` alone. A public module, which has a ``__dir__``, lists what users see.
    """
    imported: dict[str, set[str]] = defaultdict(set)
    for node in chain.from_iterable(map(ast.walk, trees.values())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jittape."):
            name = (node.module or "").removeprefix("jittape.")
            imported[name] |= {alias.name for alias in node.names if f"{name}.{alias.name}" not in trees}
    found = {}
    for name, tree in trees.items():
        stores = [
            one
            for node in tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for one in ast.walk(node)
        ]
        own = {one.id for one in stores if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        own |= {one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.ClassDef)}
        listed = exported(tree)
        missing = {one for one in own if one[0] != "_"} if listed is None else imported[name] - listed
        if missing and "__dir__" not in own:
            found[name] = sorted(missing)
    return found


def test_every_module_lists_what_it_exports():
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}
    del trees["lazy_surface"]  # the names of jittape/__init__.py, as type checkers see them
    assert unlisted(trees) == {}, "list them in __all__"


def test_names_are_those_that_type_checkers_see():
    """The tables of late imports and the imports for type checkers give the same objects."""
    seen = {}
    for name in ("__init__", "lazy_surface"):
        for node in ast.walk(ast.parse((ROOT / f"{name}.py").read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "jittape":
                seen |= {one.asname: (node.module, one.name) for one in node.names if one.asname}
    public = {name: place for name, place in seen.items() if not name.startswith("_")}
    assert {*public, "__version__", "newaxis"} == {*jittape.__all__}
    for name, (home, inner) in public.items():
        module = import_module(home)
        expected = getattr(module, inner, None) or import_module(f"{home}.{inner}")
        assert getattr(jittape, name) is expected, name


def test_a_name_that_is_not_listed_is_seen():
    given = {
        "core.a": "__all__ = ['x']\nx = y = 1",
        "core.b": "from jittape.core.a import x, y",
        "core": "from jittape.core.a import x as x",
        "math": "def __dir__(): ...",
        "version": "number = 1",
    }
    assert unlisted({name: ast.parse(text) for name, text in given.items()}) == {
        "core.a": ["y"],
        "version": ["number"],
    }


@pytest.mark.parametrize("heavy", ["numba", "llvmlite", "scipy"])
def test_import_is_light(heavy):
    done = run_python(
        "-c", f"import jittape, sys; print([m for m in sys.modules if m.split('.')[0] == {heavy!r}])"
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def asked_by_identity(source: str) -> list[int]:
    """The lines that compare something with a certain op, such as `add_op`, or look for it in a set."""
    sets = {"issuperset", "issubset", "isdisjoint", "intersection"}
    found = []
    for node in ast.walk(ast.parse(source)):
        asks = isinstance(node, ast.Compare) or (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in sets
        )
        named = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)] if asks else []
        if any(name.endswith("_op") for name in named):
            found.append(node.lineno)
    return found


def test_no_op_is_asked_for_by_identity():
    names = [name for name in FILES if name.split(".")[0] in ("compile", "flow")]
    found = {name: asked_by_identity(FILES[name].read_text(encoding="utf-8")) for name in names}
    found = {name: lines for name, lines in found.items() if lines}
    assert not found, f"ask for a role of `Primitive`, not for a certain op: {found}"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("op.primitive is add_op", [1]),
        ("op.primitive not in (add_op, subtract_op)", [1]),
        ("primitives_of(program).issuperset((sum_op, add_op))", [1]),
        ("equal_op in primitives_of(program)", [1]),
        ("editor.bind(add_op, (a, b), op)", []),
        ("op.primitive.is_addition", []),
    ],
)
def test_a_question_for_a_certain_op_is_seen(source, found):
    assert asked_by_identity(source) == found


SCHEDULING = """
import sys
import numpy as np
from jittape.compile.ir.target_facts import TargetFacts
from jittape.compile.schedule.schedule import schedule
from jittape.core.program import Aval, Op, Program
from jittape.primitives.elementwise.exponential import exp_op
from jittape.primitives.linalg.matmul import matmul_op

matrix = Aval((300, 300), np.dtype(np.float64))
ops = Op(exp_op, (0,), (), 1), Op(matmul_op, (1, 0), (), 2)
program = Program((0,), ops, (2,), dict.fromkeys(range(3), matrix))
print(len(schedule(program, target=lambda: TargetFacts(True, True, True)).steps))
print([name for name in sys.modules if name.split(".")[0] in ("llvmlite", "numba", "scipy")])
"""


def test_scheduling_needs_no_llvm():
    done = run_python("-c", SCHEDULING)
    assert (done.stdout.split("\n"), done.stderr) == (["2", "[]", ""], "")


def test_modules_are_imported_when_they_are_used():
    done = run_python(
        "-c",
        "import sys, jittape as jt\n"
        "early = ('jittape.core', 'jittape.errors', 'jittape.html_report', 'jittape.interop', 'jittape.lazy',\n"
        "         'jittape.value_classes', 'jittape.version')\n"
        "print([name for name in sys.modules if name.startswith('jittape.') and not name.startswith(early)])\n"
        "tape = jt.GradientTape(), jt.Variable(2.0) * 3.0, jt.function\n"
        "late = ('jittape.keras', 'jittape.data', 'jittape.signal', 'jittape.primitives.signal', 'jittape.compile',\n"
        "        'jittape.optimizers', 'jittape.numba_ad', 'jittape.numba_bridge', 'jittape.random',\n"
        "        'jittape.linalg', 'jittape.primitives.nn', 'jittape.transforms', 'jittape.flow')\n"
        "print([name for name in sys.modules if name.startswith(late)])\n"
        "print(jt.nn.Dense is jt.keras.layers.Dense, jt.data.Dataset.__name__, jt.signal.fft.__name__)\n",
    )
    assert done.stdout == "[]\n[]\nTrue Dataset fft\n"


def test_the_namespaces_of_numpy_scipy_and_autograd_are_imported_when_they_are_used():
    done = run_python(
        "-c",
        "import sys, jittape as jt, jittape.numpy as jnp, jittape.scipy, jittape.autograd\n"
        "import jittape.autograd.numpy.fft, jittape.autograd.numpy.linalg as la, jittape.autograd.scipy as sc\n"
        "late = 'jittape.numpy.', 'jittape.scipy.', 'jittape.autograd.', 'jittape.recording', 'scipy'\n"
        "light = ('numpy', 'numpy.fft', 'numpy.linalg', 'scipy')\n"
        "light = ['jittape.autograd.' + name for name in light]\n"
        "print([name for name in sys.modules if name.startswith(late) and name not in light])\n"
        "print(la.norm.__name__, sc.special.__name__, jittape.autograd.numpy.sin.__name__)\n"
        "print(float(jnp.sum(jnp.ones(3))), jittape.autograd.grad(lambda x: x * x)(3.0), 'sum' in dir(jnp))\n"
        "from jittape.numpy import *\n"
        "from jittape.autograd import *\n"
        "print(float(hypot(3.0, 4.0)), deriv(lambda x: x * x)(2.0), 'scipy' in sys.modules)\n",
    )
    assert done.stdout == "[]\nnorm jittape.autograd.scipy.special sin\n3.0 6.0 True\n5.0 4.0 False\n"


def test_each_public_module_may_be_the_first_that_is_used():
    """Names are imported at first use, in any order: `jt.data` alone once imported itself in a circle."""
    script = """
import importlib.util, os, sys
import jittape
failed = []
for name in jittape.__all__:
    if importlib.util.find_spec(f"jittape.{name}") is not None:
        child = os.fork()
        if child == 0:
            try:
                getattr(jittape, name)
                os._exit(0)
            except BaseException as error:
                print(name, repr(error), file=sys.stderr)
                os._exit(1)
        if os.waitpid(child, 0)[1]:
            failed.append(name)
sys.exit(len(failed))
"""
    done = run_python("-c", script)
    assert done.returncode == 0, done.stderr


FIRST_OP = """
import threading
import numpy as np
import jittape as jt

def first():
    found.append(np.asarray(OP))

found = []
thread = threading.Thread(target=first)
thread.start()
thread.join()
first()
np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
"""


@pytest.mark.parametrize(
    "op", ["jt.exp(np.ones(2))", "jt.linalg.cholesky(np.eye(2))", "jt.signal.fft(np.ones(2, complex))"]
)
def test_any_op_may_be_the_first_of_a_process_and_of_a_thread(op):
    done = run_python("-c", FIRST_OP.replace("OP", op))
    assert done.stderr == ""
