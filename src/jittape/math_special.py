"""Special functions under TensorFlow's names (``jt.math.special``)."""

from jittape.lazy_names import lazily as _lazily
from jittape.primitives.elementwise.bessel import bessel_j0 as bessel_j0
from jittape.primitives.elementwise.bessel import bessel_j1 as bessel_j1
from jittape.primitives.elementwise.bessel import bessel_y0 as bessel_y0
from jittape.primitives.elementwise.bessel import bessel_y1 as bessel_y1
from jittape.primitives.elementwise.integrals import dawsn as dawsn
from jittape.primitives.elementwise.integrals import expint as expint
from jittape.primitives.elementwise.integrals import fresnel_cos as fresnel_cos
from jittape.primitives.elementwise.integrals import fresnel_sin as fresnel_sin
from jittape.primitives.elementwise.integrals import spence as spence
from jittape.primitives.elementwise.modified_bessel import bessel_i0 as bessel_i0
from jittape.primitives.elementwise.modified_bessel import bessel_i0e as bessel_i0e
from jittape.primitives.elementwise.modified_bessel import bessel_i1 as bessel_i1
from jittape.primitives.elementwise.modified_bessel import bessel_i1e as bessel_i1e
from jittape.primitives.elementwise.modified_bessel import bessel_k0 as bessel_k0
from jittape.primitives.elementwise.modified_bessel import bessel_k0e as bessel_k0e
from jittape.primitives.elementwise.modified_bessel import bessel_k1 as bessel_k1
from jittape.primitives.elementwise.modified_bessel import bessel_k1e as bessel_k1e

__all__ = [
    "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_j0", "bessel_j1", "bessel_k0", "bessel_k0e",
    "bessel_k1", "bessel_k1e", "bessel_y0", "bessel_y1", "dawsn", "expint", "fresnel_cos", "fresnel_sin",
    "spence",
]  # fmt: skip

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
