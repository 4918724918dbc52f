"""Every public function and class says what it takes and has an example."""

import inspect
import re

import numpy as np
import pytest

import jittape as jt
from docstring_probes import undocumented_errors, undocumented_errors_of_class
from test_documentation import public_names

RESULTS = {
    "ConcreteFunction", "Dataset", "Explanation", "FrozenDistribution", "Function", "LineProfile", "NanTrace",
    "NativeFunction", "NjitGradient", "NumbaOp", "Origin", "PrecisionLoss", "PrecisionReport", "Profile",
    "Signature", "Stats", "Tensor", "UnconnectedGradients", "CheckpointState", "CheckpointLoadStatus",
    "InitializationOnlyStatus", "SparseDerivative", "SparsityPattern", "CFunction", "FitResult", "NutpieDraws",
    "LikelihoodProfile", "DistributedGradient", "ExportedLibrary", "Iterator",
}  # fmt: skip
"""Classes whose objects users get from functions, which have the examples."""

SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)


def documented_parameters(docstring):
    """Return the names in the section of parameters; None if there is no such section."""
    found = SECTION.search(docstring)
    if found is None:
        return None
    heads = re.findall(r"^\S.*$", found[1], re.MULTILINE)
    return {name.strip().lstrip("*") for head in heads for name in head.partition(" :")[0].split(",")}


def gaps(value):
    """Return what the docstring of a function or class lacks."""
    docstring = inspect.getdoc(value) or ""
    if isinstance(value, type) and (issubclass(value, Exception) or value.__name__ in RESULTS):
        return [] if docstring else ["summary"]
    lacking = [] if docstring else ["summary"]
    # Examples of interop need libraries that the tests may lack.
    if ">>> " not in docstring and not value.__module__.startswith("jittape.interop."):
        lacking.append("example")
    required = [p for p in inspect.signature(value).parameters.values() if p.kind is not p.VAR_KEYWORD]
    parameters = {p.name for p in required} - {"self", "name"}
    if value.__module__.startswith("jittape.autograd."):
        parameters -= {"x"}  # the argument of the function that a decorator makes
    if parameters:
        documented = documented_parameters(docstring)
        if documented is None:
            lacking.append("Parameters")
        elif not documented & {"other arguments", "...", "options"}:
            lacking += sorted(parameters - documented)
    return lacking


NAMES = [(min(names), value) for value, names in public_names()]


def test_every_public_name_has_parameters_and_an_example():
    found = {name: gaps(value) for name, value in NAMES}
    assert not {name: lacking for name, lacking in found.items() if lacking}


def test_every_error_of_a_wrong_call_is_documented(monkeypatch):
    monkeypatch.setattr(jt.config, "interpret", True)
    functions = {name: value for name, value in NAMES if inspect.isfunction(value)}
    found = {name: undocumented_errors(value) for name, value in functions.items()}
    assert not {name: errors for name, errors in found.items() if errors}


def test_every_error_of_a_wrong_call_of_a_class_is_documented(monkeypatch):
    monkeypatch.setattr(jt.config, "interpret", True)
    classes = {
        name: value for name, value in NAMES if isinstance(value, type) and not issubclass(value, Exception)
    }
    found = {name: undocumented_errors_of_class(value) for name, value in classes.items()}
    assert not {name: errors for name, errors in found.items() if errors}


def test_an_undocumented_error_of_a_class_is_found(monkeypatch):
    class Scaled:
        """Numbers times a factor.

        Raises
        ------
        ZeroDivisionError
            If the factor is 0.

        Examples
        --------
        >>> scaled = np.Scaled(2.0)
        >>> scaled.total([[1.0, 2.0]])
        >>> scaled([1.0])
        """

        def __init__(self, factor):
            if np.any(np.asarray(factor) == 0):
                raise ZeroDivisionError("factor")
            self.factor = factor

        def total(self, x):
            """Return the sum."""
            return jt.reduce_sum(x, axis=0)

        def __call__(self, x):
            """Return the numbers.

            Raises
            ------
            IndexError
                If there are none.
            """
            if not np.size(x):
                raise IndexError("x")

    monkeypatch.setattr(np, "Scaled", Scaled, raising=False)
    assert undocumented_errors_of_class(Scaled).keys() == {"total: AxisError"}


def test_an_undocumented_error_is_found(monkeypatch):
    def f(x):
        """Return the sum of the elements along the first axis.

        Examples
        --------
        >>> np.f([[1.0, 2.0]])
        """
        return jt.reduce_sum(x, axis=0)

    monkeypatch.setattr(np, "f", f, raising=False)
    assert undocumented_errors(f).keys() == {"AxisError"}


def test_a_gap_is_found():
    def f(x, y):
        """Return x.

        Parameters
        ----------
        x : tensor
            A tensor.
        """

    assert gaps(f) == ["example", "y"]
    assert gaps(lambda x: x) == ["summary", "example", "Parameters"]


@pytest.mark.parametrize(
    ("section", "names"),
    [("x, y : tensor\n    Two.\n", {"x", "y"}), ("*args, **options\n    More.\n", {"args", "options"})],
)
def test_names_of_parameters(section, names):
    assert documented_parameters(f"Sum.\n\nParameters\n----------\n{section}\nRaises\n------\nE") == names
