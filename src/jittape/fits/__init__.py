"""Fits of models to data, with errors from exact derivatives (`jittape.fit`)."""

from jittape.lazy_names import lazily as _lazily

__all__ = ["FitResult", "LikelihoodProfile", "fit"]

__getattr__ = _lazily(
    __name__,
    {
        f"{__name__}.fit_function": ("fit",),
        f"{__name__}.fit_result": ("FitResult",),
        f"{__name__}.likelihood_profile": ("LikelihoodProfile",),
    },
)


def __dir__() -> list[str]:
    return __all__
