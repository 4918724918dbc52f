"""Libraries for C: compiled functions without Python."""

from jittape.lazy_names import lazily as _lazily

__all__ = ["ExportedLibrary", "export"]

__getattr__ = _lazily(__name__, {f"{__name__}.exported_library": ("ExportedLibrary", "export")})


def __dir__() -> list[str]:
    return __all__
