"""`Generator` and `default_rng`: NumPy's interface of `jt.random.Generator`."""

from __future__ import annotations

from typing import Any

import numpy as np

from jittape.core.user_calls import as_array, as_int, named, shown
from jittape.numpy.random.numpy_choices import DiscreteLaws
from jittape.random.generator import Generator as StatefulGenerator

__all__ = ["Generator", "default_rng"]


class Generator(DiscreteLaws):
    """A random number generator with the methods of `numpy.random.Generator`, which return tensors.

    Its state is a Variable. A `jt.function` reads and assigns it, so each call draws other numbers, and gradients flow
    to parameters that are tensors. The numbers are those of jittape's Philox, not those of a bit generator of NumPy.

    Parameters
    ----------
    bit_generator : jt.random.Generator
        Source of the random bits.

    Examples
    --------
    >>> import jittape.numpy as np
    >>> rng = np.random.default_rng(1)
    >>> rng.normal(size=(2, 3)).shape, rng.integers(6, size=4).dtype
    ((2, 3), jt.int64)
    """

    __module__ = "jittape.numpy.random"

    def __init__(self, bit_generator: StatefulGenerator) -> None:
        super().__init__()
        if not isinstance(bit_generator, StatefulGenerator):
            raise TypeError(
                f"[random.Generator] bit_generator must be a jt.random.Generator, got {shown(bit_generator)}; "
                "use default_rng(seed)"
            )
        self.bit_generator = bit_generator

    def _take(self, blocks: int) -> Any:
        return self.bit_generator._take(blocks)

    def spawn(self, n_children: int) -> list[Generator]:
        """Return independent new generators; see `numpy.random.Generator.spawn`."""
        count = as_int("n_children", n_children)
        return [Generator(child) for child in self.bit_generator.split(count)] if count else []

    def __repr__(self) -> str:
        return "<jittape.numpy.random.Generator>"


def default_rng(seed: Any = None) -> Generator:
    """Return a new generator; see `numpy.random.default_rng`.

    Parameters
    ----------
    seed : None, int, sequence of int, or generator
        None takes a state from the operating system. A generator is returned itself.

    Raises
    ------
    TypeError
        For a bit generator or a seed sequence of NumPy.
    ValueError
        For a negative seed.

    Examples
    --------
    >>> import jittape.numpy as np
    >>> a, b = (np.random.default_rng(7).random(3) for _ in range(2))
    >>> bool((a == b).all())
    True
    """
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, StatefulGenerator):
        return Generator(seed)
    if seed is None:
        return Generator(StatefulGenerator.from_non_deterministic_state())
    if type(seed).__module__.startswith("numpy.random"):
        raise named(TypeError(f"seed must be an int or a sequence of ints, got {shown(seed)}"))
    if isinstance(seed, (list, tuple, np.ndarray)):
        words = as_array("seed", seed)
        mixed = np.random.SeedSequence([int(word) for word in words.ravel()]).generate_state(4)
        return Generator(StatefulGenerator.from_seed(int.from_bytes(mixed.tobytes(), "little")))
    return Generator(StatefulGenerator.from_seed(as_int("seed", seed)))
