"""Functions for other libraries and for C, and entries that other libraries need for tensors."""

from jittape.lazy_names import lazily as _lazily

__all__ = [
    "CFunction", "NutpieDraws", "cfunc", "jax_call", "nutpie", "nutpie_draws", "pytensor_op", "torch_function",
]  # fmt: skip

__getattr__ = _lazily(
    __name__,
    {
        f"{__name__}.c_function": ("CFunction", "cfunc"),
        f"{__name__}.jax_function": ("jax_call",),
        f"{__name__}.nutpie_model": ("nutpie",),
        f"{__name__}.nutpie_sampling": ("NutpieDraws", "nutpie_draws"),
        f"{__name__}.pytensor_function": ("pytensor_op",),
        f"{__name__}.torch_autograd": ("torch_function",),
    },
)


def __dir__() -> list[str]:
    return __all__
