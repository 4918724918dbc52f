"""Gradients and fits on the workers of a Dask cluster."""

from jittape.lazy_names import lazily as _lazily

__all__ = ["DistributedGradient", "map", "value_and_grad"]

__getattr__ = _lazily(
    __name__,
    {
        f"{__name__}.distributed_gradient": ("DistributedGradient", "value_and_grad"),
        f"{__name__}.distributed_map": ("map",),
    },
)


def __dir__() -> list[str]:
    return __all__
