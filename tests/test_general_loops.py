"""Plain steps with loops and branches: from the third length on, their paths are derived and compiled at once."""

import warnings
from typing import Any

import numpy as np
import pytest

import jittape as jt
from jittape.recording.general.path_edges import edges_to, is_same_content
from jittape.runtime.counters import counters
from length_programs import decide_by_sizes
from test_general_control import LAYERS, PROGRAMS, check_memory, with_gradients
from test_general_path import compiled_anew, is_derived, new_paths, ran
from test_general_trace import flatten

LENGTHS = [50, 61, 70, 23, 9, 90]

__all__ = ["new_paths"]


def check_path(found: Any, fresh: Any, executable: Any) -> None:
    """Check that a derived path has the nodes of one that was recorded, and the steps of one that was scheduled."""
    edges, wanted = edges_to(found), edges_to(fresh)
    assert [key for key, _ in edges] == [key for key, _ in wanted]
    assert all(is_same_content(a, b) for (_, a), (_, b) in zip(edges, wanted, strict=True))
    if executable.compiled is not None:
        check_memory(executable.compiled)


@pytest.mark.parametrize("name", PROGRAMS)
def test_control_flow_of_any_length(name, monkeypatch):
    """The nodes, the steps and the numbers are those of a path that was recorded and scheduled for this length."""
    decide_by_sizes(monkeypatch)
    step = with_gradients(PROGRAMS[name])
    derived = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inputs = [np.random.default_rng(n).normal(size=(n, 3)) + 0.1 for n in LENGTHS]
        found = [(x, *ran(step, x), counters.last) for x in inputs]
        for x, results, node, executable in found:
            if is_derived(node):
                derived += 1
                expected, fresh = compiled_anew(step, x)
                for a, b in zip(
                    results, expected, strict=True
                ):  # the first run of a length may be interpreted
                    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13, strict=True)
                check_path(node, fresh, executable)
    # The limit of "from the middle" is a quotient of the length, which two lengths do not reveal.
    assert derived >= 3 or name == "fori_loop from the middle", "each length was recorded"


@pytest.mark.parametrize("name", LAYERS)
def test_recurrent_layers_of_batches_of_any_size_and_length(name):
    layer, head = LAYERS[name](), jt.keras.layers.Dense(1)
    head(layer(jt.ones([2, 4, 5])))
    weights = [*layer.trainable_variables, *head.trainable_variables]

    def step(x: Any) -> Any:
        with jt.GradientTape() as tape:
            loss = jt.reduce_mean(jt.square(head(layer(x))))
        return loss, tape.gradient(loss, weights)

    derived = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for b, t in [(7, 50), (8, 61), (31, 23), (16, 33), (9, 41), (60, 8)]:
            x = np.random.default_rng(b).normal(size=(b, t, 5)).astype("float32")
            results, node = ran(step, x)
            derived += is_derived(node)
            for a, b_ in zip(results, flatten(jt.function(step)(x)), strict=True):
                np.testing.assert_allclose(a, b_.numpy(), rtol=2e-4, atol=2e-6)
    assert derived >= 3, "each length was recorded"
