"""What the documentation says is so: its examples run as they stand there, and no public name is left out."""

import doctest
import pydoc
import re
import runpy
from collections import defaultdict
from enum import EnumType
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType

import numpy as np
import pytest

import jittape as jt
import test_imports
import test_primitives
from jittape.core.primitive import apply
from jittape.vectormath import NumPyMath
from jittape.vectormath.math_namespace import MathNamespace
from optimizer_formulas import started
from ulp_table import Compiled

ROOT = Path(__file__).parent.parent
EXAMPLE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

LISTED = set(
    re.findall(r"^   ([\w.]+)$", (ROOT / "docs" / "api.rst").read_text(encoding="utf-8"), re.MULTILINE)
)


def run_examples(name, namespace=None):
    """Run every Python block of a file in one namespace, which is returned."""
    blocks = EXAMPLE.findall((ROOT / name).read_text(encoding="utf-8"))
    assert blocks, f"{name} has no example any more"
    namespace = {} if namespace is None else namespace
    namespace["__name__"] = "__main__"
    for block in blocks:
        exec(compile(block, name, "exec"), namespace)
    return namespace


def test_readme(capsys):
    run_examples("README.md")
    assert capsys.readouterr().out == "y = 3.00 x + 2.00\n"


def test_the_page_of_statistical_models(capsys):
    run_examples("docs/guides/statistics.md")
    assert "accuracy 0.9" in capsys.readouterr().out


def test_the_page_of_networks(capsys):
    run_examples("docs/guides/networks.md")
    printed = capsys.readouterr().out
    accuracy, error = map(float, re.findall(r"\d\.\d{3}", printed))
    assert accuracy > 0.95
    assert error < 0.2
    first, last = map(float, re.findall(r"at (?:first|last) (\d\.\d)", printed))
    assert last < first / 2
    assert re.search(r"\nT[\s\S]{100}\n$", printed)


def test_the_training_loop_of_the_page_on_tensorflow(capsys):
    runpy.run_path(str(ROOT / "docs" / "programs" / "custom_loop.py"))
    loss, accuracy = map(float, re.findall(r"\d\.\d\d", capsys.readouterr().out))
    assert loss < 0.2
    assert accuracy > 0.85


def test_the_page_on_autograd(capsys):
    run_examples("docs/coming-from/autograd.md")
    printed = capsys.readouterr().out
    assert printed.startswith("0.419974 -0.639700\n")
    left, right = printed.splitlines()[1::2], printed.splitlines()[2::2]
    assert left == right  # the two columns
    loss, before, after, height = map(float, re.findall(r"(?<= )\d+\.\d+", "\n".join(left)))
    assert loss < 0.2
    assert after < before / 3
    assert height == 0.5


def test_the_page_of_linear_algebra(capsys):
    run_examples("docs/guides/linalg.md")
    error, other = map(float, re.findall(r"\d\.\d+", capsys.readouterr().out))
    assert error < 0.75 * other


def test_the_page_of_scipy(capsys):
    run_examples("docs/guides/scipy.md")
    assert "1001.098" in capsys.readouterr().out


ERROR_CLASSES = sorted(
    name
    for name, value in vars(jt.errors).items()
    if isinstance(value, type) and issubclass(value, Exception)
)


@pytest.mark.parametrize("name", ERROR_CLASSES)
def test_the_page_of_errors_has_every_class(name):
    page = (ROOT / "docs" / "reference" / "errors.rst").read_text(encoding="utf-8")
    assert f"``{name}``" in page, f"add {name}, with a program that causes it, to docs/reference/errors.rst"


def test_the_record_of_contributing_is_a_module_of_the_package(monkeypatch):
    text = EXAMPLE.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))[0]
    for imported in test_imports.imported_names(text, "CONTRIBUTING.md"):
        assert test_imports.POSITION[imported] < test_imports.POSITION["primitives.nn.activation"], imported
    module = ModuleType("jittape.primitives.contributed")
    exec(compile(text, "CONTRIBUTING.md", "exec"), vars(module))
    monkeypatch.setattr(jt.math, "logcosh", module.logcosh, raising=False)
    examples = doctest.DocTestFinder().find(module.logcosh, globs={"jt": jt})
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert [runner.run(example) for example in examples] == [doctest.TestResults(0, 1)]


def test_the_op_of_contributing_passes_the_tests_of_every_op(capsys, monkeypatch):
    monkeypatch.setattr(jt.math, "logcosh", lambda x: namespace["logcosh"](x), raising=False)
    namespace = {}
    row = run_examples("CONTRIBUTING.md", namespace)["row"]
    assert "logcosh" in capsys.readouterr().out
    operands = row.sample(np.random.default_rng(0))
    for dtype in row.dtypes:
        for edge in (operands, *row.edges):
            test_primitives.assert_value(row, edge, dtype)
            test_primitives.assert_compiled(row, edge, dtype)
    test_primitives.test_gradient_against_differences(row)


@pytest.fixture
def guide(monkeypatch):
    """The namespace of the examples in ``docs/where-to-change.md``, whose method `cbrt` is removed afterwards."""
    monkeypatch.setattr(MathNamespace, "cbrt", None, raising=False)
    return run_examples("docs/where-to-change.md")


def test_the_guide_names_files_that_exist():
    text = (ROOT / "docs" / "where-to-change.md").read_text(encoding="utf-8")
    for path in re.findall(r"`([\w./-]+(?:/|\.(?:py|rst|md)))`", text):
        roots = (ROOT, ROOT / "src" / "jittape")
        assert any((root / path).exists() for root in roots), f"{path} does not exist"


def test_the_ops_of_the_guide_pass_the_tests_of_every_op(guide):
    for row in (guide["cbrt_row"], *guide["max_abs_rows"]):
        operands = row.sample(np.random.default_rng(0))
        for dtype in row.dtypes:
            for edge in (operands, *row.edges):
                test_primitives.assert_value(row, edge, dtype)
                test_primitives.assert_compiled(row, edge, dtype)
        test_primitives.test_gradient_against_differences(row)


def test_two_sums_of_the_guide_are_one_sum_in_one_loop(guide):
    def squares(x):
        return guide["sum_squares_op"].bind(x, axes=(1,))

    def both(x):
        return apply(squares, (jt.exp(x),)) + apply(squares, (jt.sin(x),))

    x = np.linspace(0.1, 2.0, 3000).reshape(3, 1000)
    for _ in range(2):
        values = both(jt.constant(x)).numpy()
    np.testing.assert_allclose(values, np.sum(np.exp(x) ** 2 + np.sin(x) ** 2, axis=1), rtol=1e-12)
    (step,) = jt.explain().steps
    assert step.listing.count(" = sum(") == 1
    jt.check_gradient(both, x[:, :5], order=2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_formula_of_the_guide_is_accurate(guide, dtype):
    x = np.concatenate(
        [10.0 ** np.linspace(-44, 38, 1000), np.linspace(-9, 9, 1000), [0.0, -0.0, np.inf, np.nan]]
    )
    x = x.astype(dtype)
    wanted = np.cbrt(x.astype(np.longdouble))
    formula = guide["cbrt"]
    with np.errstate(all="ignore"):
        values = formula(NumPyMath(), x), Compiled(formula, [dtype])(x)
    finite = np.isfinite(x)
    unit = np.spacing(np.abs(wanted[finite]).astype(dtype))
    for found in values:
        assert np.max(np.abs(found[finite] - wanted[finite]) / unit) < 1
        np.testing.assert_array_equal(found[-4:], wanted[-4:].astype(dtype))


def test_the_optimizer_of_the_guide_follows_its_formula(guide):
    start, gradients = np.array([1.0, -2.0, 0.5]), [np.array([0.3, -1e-9, 0.0]), np.array([-5.0, 2.0, 1.0])]
    variable, optimizer = jt.Variable(start), guide["SignSGD"](0.125)
    formula = started(guide["sign_sgd"], start)
    for gradient in gradients:
        optimizer.apply_gradients([(jt.constant(gradient), variable)])
        np.testing.assert_array_equal(variable.numpy(), formula.send((gradient, 0.125)))


PUBLIC_MODULES = (
    jt,
    jt.autodiff,
    jt.autograd,
    jt.autograd.extend,
    jt.autograd.misc,
    jt.autograd.misc.fixed_points,
    jt.autograd.misc.optimizers,
    jt.autograd.test_util,
    jt.autograd.tracer,
    jt.autograph,
    jt.autograph.experimental,
    jt.bitwise,
    jt.dask,
    jt.data,
    jt.debugging,
    jt.dtypes,
    jt.keras,
    jt.keras.activations,
    jt.keras.callbacks,
    jt.keras.constraints,
    jt.keras.initializers,
    jt.keras.layers,
    jt.keras.losses,
    jt.keras.metrics,
    jt.keras.models,
    jt.keras.preprocessing,
    jt.keras.preprocessing.sequence,
    jt.keras.random,
    jt.keras.regularizers,
    jt.keras.saving,
    jt.keras.backend,
    jt.keras.utils,
    jt.linalg,
    jt.math,
    jt.math.special,
    jt.nest,
    jt.nn,
    jt.optimizers,
    jt.optimizers.schedules,
    jt.plot,
    jt.random,
    jt.scipy,
    jt.scipy.integrate,
    jt.scipy.interpolate,
    jt.scipy.linalg,
    jt.scipy.ndimage,
    jt.scipy.optimize,
    jt.scipy.signal,
    jt.scipy.spatial,
    jt.scipy.spatial.distance,
    jt.scipy.special,
    jt.scipy.stats,
    jt.signal,
    jt.test,
    jt.train,
)


NAMESPACES = (jt.autograd.numpy, jt.keras.ops, jt.numpy, jt.numpy.fft, jt.numpy.linalg, jt.numpy.random)
"""Modules whose names are NumPy's or Keras's; docs/api.rst does not list them one by one."""


DEFINING_MODULES = (
    jt.autograd.extend,
    jt.autograd.misc.fixed_points,
    jt.autograd.misc.optimizers,
    jt.autograd.test_util,
    jt.autograd.tracer,
    jt.autograph.experimental,
    jt.keras.activations,
    jt.keras.callbacks,
    jt.keras.constraints,
    jt.keras.initializers,
    jt.keras.losses,
    jt.keras.metrics,
    jt.keras.models,
    jt.keras.regularizers,
    jt.keras.backend,
    jt.keras.utils,
    jt.nest,
    jt.optimizers.schedules,
    jt.random,
)
"""Public modules that define what they export, and so have other names too."""


def public_names():
    """Every public class and function, with its dotted names."""
    names = defaultdict(set)
    for module in PUBLIC_MODULES:
        prefix = module.__name__.partition(".")[2]
        for name in module.__all__:
            value = getattr(module, name)
            if value.__class__ in (type, EnumType, FunctionType):
                names[value].add(f"{prefix}.{name}".lstrip("."))
    return names.items()


def test_the_reference_lists_all_names():
    missing = [sorted(names) for value, names in public_names() if not names & LISTED]
    assert not missing, f"add one name of each group to docs/api.rst: {missing}"


def test_the_reference_names_what_exists():
    parts = {name: f"jittape.{name}".rpartition(".") for name in LISTED}
    missing = [name for name, (module, _, own) in parts.items() if own not in import_module(module).__all__]
    assert not missing


def test_every_module_of_a_public_module_can_be_imported():
    """``import jittape.keras.optimizers`` gives the module that ``jt.keras.optimizers`` is, as do its submodules."""
    wrong = []
    for module in PUBLIC_MODULES + NAMESPACES:
        for name in dir(module):
            value = getattr(module, name)
            # `autograd.numpy` has NumPy's own modules as attributes only, as in autograd.
            foreign = module is jt.autograd.numpy and not getattr(value, "__name__", "").startswith(
                "jittape."
            )
            if isinstance(value, ModuleType) and not foreign:
                try:
                    if import_module(f"{module.__name__}.{name}") is not value:
                        wrong.append(f"{module.__name__}.{name} is another module than {value.__name__}")
                except ImportError as error:
                    wrong.append(str(error))
    assert not wrong
    assert import_module("jittape.keras.optimizers.schedules") is jt.optimizers.schedules
    assert import_module("jittape.nn.layers.dense").Dense is jt.keras.layers.Dense


@pytest.mark.parametrize("module", PUBLIC_MODULES, ids=lambda module: module.__name__)
def test_dir_shows_what_is_public_and_nothing_else(module):
    assert dir(module) == sorted(module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        value = getattr(module, name)
        assert name == "__version__" or not name.startswith("_")
        if isinstance(value, ModuleType):
            assert value in PUBLIC_MODULES + NAMESPACES, f"{module.__name__}.{name} is not a public module"
        elif isinstance(value, (type, FunctionType)) and not issubclass(type(value), np.dtype):
            assert value.__module__.startswith("jittape."), f"{module.__name__}.{name} is foreign"
        else:
            distribution = type(value).__module__.startswith("jittape.scipy.stats.")
            plain = isinstance(value, (int, np.dtype)) or distribution
            assert name in {"__version__", "config", "newaxis"} or plain
        # NumPy gives the dtypes of other packages no docstring.
        assert name in {"newaxis", "bfloat16"} or value.__doc__, f"{module.__name__}.{name} has no docstring"


def test_public_functions_of_a_module_are_in_its_all():
    """No public name of a re-exporting module is left out of its `__all__`."""
    for module in PUBLIC_MODULES:
        if module not in DEFINING_MODULES:
            reexported = {
                name
                for name, value in vars(module).items()
                if not name.startswith("_") and not isinstance(value, ModuleType)
            }
            assert reexported - {"annotations"} <= set(module.__all__), module.__name__


def test_internal_modules_are_importable_and_not_listed():
    for name in ("core", "compile", "recording", "runtime", "primitives"):
        assert import_module(f"jittape.{name}").__name__ == f"jittape.{name}"
        assert name not in dir(jt)


def test_help_on_config_shows_every_setting():
    text = pydoc.render_doc(jt.config, renderer=pydoc.plaintext)
    attributes = text.partition("Attributes\n")[2].partition("Examples\n")[0]
    settings = {name for name, value in vars(type(jt.config)).items() if getattr(value, "fset", None)}
    for name in sorted(settings | {"full_tracebacks"}):
        assert re.search(rf"^ \|  {name} : \w+$", attributes, re.MULTILINE), name
    methods = {name for name in dir(jt.config) if callable(getattr(jt.config, name))}
    assert set(dir(jt.config)) - methods == settings | {"full_tracebacks"}
    assert methods == {
        "functions_run_eagerly", "list_logical_devices", "list_physical_devices", "run_functions_eagerly"
    }  # fmt: skip
