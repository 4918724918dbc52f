"""Programs of TensorFlow's guide, run by jittape and compared with TensorFlow's values; see `tensorflow_programs`."""

import json
import math

import numpy as np
import pytest

import jittape as jt
from tensorflow_programs import PROGRAMS, VALUES, plain

RECORDED = json.loads(VALUES.read_text(encoding="utf-8"))["programs"]


def compare(found, expected, place="result"):
    """Compare nested values: numbers to the accuracy of float32, all else exactly."""
    if isinstance(expected, dict) and expected.keys() == {"shape", "values"}:
        assert found["shape"] == expected["shape"], place
        np.testing.assert_allclose(
            np.array(found["values"]), np.array(expected["values"]), rtol=2e-5, atol=2e-6, err_msg=place
        )
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys(), place
        for name in expected:
            compare(found[name], expected[name], f"{place}[{name!r}]")
    elif isinstance(expected, list):
        assert isinstance(found, list), place
        assert len(found) == len(expected), place
        for i, item in enumerate(expected):
            compare(found[i], item, f"{place}[{i}]")
    elif isinstance(expected, float) and not isinstance(found, bool):
        assert math.isclose(found, expected, rel_tol=2e-5, abs_tol=2e-6), (place, found, expected)
    else:
        assert (found, type(found)) == (expected, type(expected)), place


@pytest.mark.filterwarnings("ignore::jittape.FunctionWarning", "ignore::jittape.TapeExitWarning")
@pytest.mark.filterwarnings("ignore::jittape.UnconnectedGradientWarning", "ignore::jittape.TapeUsageWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_the_values_of_tensorflow(name):
    for _ in range(3):  # the interpreter, then compiled code
        jt.keras.utils.clear_session()
        compare(plain(PROGRAMS[name](jt)), RECORDED[name])


def test_every_program_is_recorded():
    assert RECORDED.keys() == PROGRAMS.keys()
