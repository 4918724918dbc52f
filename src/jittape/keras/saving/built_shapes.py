"""The shapes that a layer was built for, which the config of a layer with weights has."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from jittape.recording.nested import flatten

__all__ = ["BuiltShapes", "noted", "plain_shape", "shapes_of"]


class BuiltShapes:
    """Base of layers: notes the shapes of the inputs that `build` was given."""

    built: bool
    build: Any

    _shapes: Any = None

    def get_build_config(self) -> dict[str, Any] | None:
        """Return the shapes that the layer was built for, for `build_from_config`; None before."""
        return None if self._shapes is None else {"input_shape": self._shapes}

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Build the layer for the shapes that `get_build_config` gave."""
        if not self.built and config.get("input_shape") is not None:
            self.build(config["input_shape"])


def noted(build: Callable[..., None]) -> Callable[..., None]:
    """Return a method `build` that notes that the layer is built, and for which shapes."""

    @wraps(build)
    def build_and_note(self: Any, *args: Any, **kwargs: Any) -> None:
        build(self, *args, **kwargs)
        self.built = True
        shapes = [*args, *kwargs.values()]
        self._shapes = plain_shape(shapes[0]) if shapes else None

    return build_and_note


def shapes_of(inputs: Any) -> Any:
    """Return the shapes of arrays in their nested structure; None for all else."""
    leaves, rebuild = flatten(inputs)
    return rebuild([tuple(x.shape) if hasattr(x, "shape") else None for x in leaves])


def plain_shape(shape: Any) -> Any:
    """Return a shape, or nested shapes, with None for extents that vary."""
    if isinstance(shape, dict):
        return {key: plain_shape(part) for key, part in shape.items()}
    if isinstance(shape, (list, tuple)):
        return (list if type(shape) is list else tuple)(map(plain_shape, shape))
    return int(shape) if isinstance(shape, int) else None
