"""Programs of the kind that TensorFlow's guide shows, with the values that TensorFlow 2.21 gives for them.

Each public function of a module of this folder is a program: it takes the package, `tf`, and returns values.
``python tests/tensorflow_programs`` runs them all under TensorFlow and writes `values.json`.
"""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tensorflow_programs import (
    automatic_differentiation,
    cells_of_guides,
    core_models,
    corners_of_functions,
    corners_of_modules,
    corners_of_operations,
    functional_models,
    functions_and_modules,
    generative_models,
    guide_pages,
    hands_on,
    layers_and_callbacks,
    masked_sequences,
    pages_of_functions,
    pages_of_values,
    pipelines,
    published_models,
    sequences,
    steps_of_ones_own,
    tensors_and_variables,
    training,
    unusual_arguments,
)
from tensorflow_programs.guides import (
    gradients_in_depth,
    keras_in_depth,
    traced_programs,
    values_in_depth,
)
from tensorflow_programs.textbooks import (
    agents_and_mixtures,
    chapters_of_images,
    chapters_of_sequences,
    chapters_with_losses,
    guides_in_full,
    hands_on_layers,
    models_of_attention,
    pages_of_tutorials,
    parts_of_training,
    states_and_patches,
    steps_and_modules,
    tutorials_in_full,
)

VALUES = Path(__file__).with_name("values.json")
PAGES = (
    automatic_differentiation,
    tensors_and_variables,
    functions_and_modules,
    training,
    core_models,
    corners_of_functions,
    corners_of_modules,
    corners_of_operations,
    generative_models,
    published_models,
    hands_on,
    sequences,
    layers_and_callbacks,
    masked_sequences,
    pipelines,
    steps_of_ones_own,
    functional_models,
    guide_pages,
    unusual_arguments,
    cells_of_guides,
    pages_of_functions,
    pages_of_values,
    agents_and_mixtures,
    hands_on_layers,
    pages_of_tutorials,
    tutorials_in_full,
    guides_in_full,
    models_of_attention,
    states_and_patches,
    parts_of_training,
    steps_and_modules,
    values_in_depth,
    gradients_in_depth,
    traced_programs,
    keras_in_depth,
    chapters_with_losses,
    chapters_of_sequences,
    chapters_of_images,
)

Program = Callable[[Any], Any]


def programs_of(page: Any) -> dict[str, Program]:
    """Return the programs of a module; a name that begins with ``make_`` is a part of them."""
    functions = inspect.getmembers(page, inspect.isfunction)
    return {
        name: f for name, f in functions if f.__module__ == page.__name__ and not name.startswith("make_")
    }


PROGRAMS = {name: program for page in PAGES for name, program in programs_of(page).items()}


def plain(value: Any) -> Any:
    """Return a result as numbers, strings, `None`, lists and dictionaries; an array also has its shape."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, numbers.Number):
        return np.asarray(value).item()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in sorted(value.items())}
    if isinstance(value, (list, tuple)) or type(value).__name__ == "TensorShape":
        return [plain(item) for item in value]
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    return {
        "shape": list(array.shape),
        "values": [number.item() for number in array.astype(of_json(array)).ravel()],
    }


def of_json(array: Any) -> Any:
    """Return a dtype that keeps the numbers of an array and that JSON knows."""
    return np.float64 if array.dtype.kind == "f" else array.dtype
