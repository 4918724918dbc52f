"""Special functions under SciPy's names (``jittape.scipy.special``)."""

from jittape.lazy_names import lazily as _lazily
from jittape.scipy.special.sums_and_counts import comb as comb
from jittape.scipy.special.sums_and_counts import factorial as factorial
from jittape.scipy.special.sums_and_counts import log_softmax as log_softmax
from jittape.scipy.special.sums_and_counts import logsumexp as logsumexp
from jittape.scipy.special.sums_and_counts import multigammaln as multigammaln
from jittape.scipy.special.sums_and_counts import polygamma as polygamma
from jittape.scipy.special.sums_and_counts import sinc as sinc
from jittape.scipy.special.sums_and_counts import softmax as softmax
from jittape.scipy.special.sums_and_counts import softplus as softplus
from jittape.scipy.special.sums_and_counts import zeta as zeta
from jittape.scipy.special.ufunc_functions import beta as beta
from jittape.scipy.special.ufunc_functions import betainc as betainc
from jittape.scipy.special.ufunc_functions import betaincc as betaincc
from jittape.scipy.special.ufunc_functions import betaincinv as betaincinv
from jittape.scipy.special.ufunc_functions import betaln as betaln
from jittape.scipy.special.ufunc_functions import binom as binom
from jittape.scipy.special.ufunc_functions import boxcox as boxcox
from jittape.scipy.special.ufunc_functions import boxcox1p as boxcox1p
from jittape.scipy.special.ufunc_functions import chdtr as chdtr
from jittape.scipy.special.ufunc_functions import chdtrc as chdtrc
from jittape.scipy.special.ufunc_functions import cosm1 as cosm1
from jittape.scipy.special.ufunc_functions import dawsn as dawsn
from jittape.scipy.special.ufunc_functions import digamma as digamma
from jittape.scipy.special.ufunc_functions import entr as entr
from jittape.scipy.special.ufunc_functions import erf as erf
from jittape.scipy.special.ufunc_functions import erfc as erfc
from jittape.scipy.special.ufunc_functions import erfcinv as erfcinv
from jittape.scipy.special.ufunc_functions import erfcx as erfcx
from jittape.scipy.special.ufunc_functions import erfi as erfi
from jittape.scipy.special.ufunc_functions import erfinv as erfinv
from jittape.scipy.special.ufunc_functions import exp1 as exp1
from jittape.scipy.special.ufunc_functions import exp2 as exp2
from jittape.scipy.special.ufunc_functions import exp10 as exp10
from jittape.scipy.special.ufunc_functions import expi as expi
from jittape.scipy.special.ufunc_functions import expit as expit
from jittape.scipy.special.ufunc_functions import expm1 as expm1
from jittape.scipy.special.ufunc_functions import expn as expn
from jittape.scipy.special.ufunc_functions import exprel as exprel
from jittape.scipy.special.ufunc_functions import fdtr as fdtr
from jittape.scipy.special.ufunc_functions import fdtrc as fdtrc
from jittape.scipy.special.ufunc_functions import fresnel as fresnel
from jittape.scipy.special.ufunc_functions import gamma as gamma
from jittape.scipy.special.ufunc_functions import gammainc as gammainc
from jittape.scipy.special.ufunc_functions import gammaincc as gammaincc
from jittape.scipy.special.ufunc_functions import gammainccinv as gammainccinv
from jittape.scipy.special.ufunc_functions import gammaincinv as gammaincinv
from jittape.scipy.special.ufunc_functions import gammaln as gammaln
from jittape.scipy.special.ufunc_functions import gammasgn as gammasgn
from jittape.scipy.special.ufunc_functions import gdtr as gdtr
from jittape.scipy.special.ufunc_functions import gdtrc as gdtrc
from jittape.scipy.special.ufunc_functions import huber as huber
from jittape.scipy.special.ufunc_functions import hyp0f1 as hyp0f1
from jittape.scipy.special.ufunc_functions import hyp1f1 as hyp1f1
from jittape.scipy.special.ufunc_functions import hyp2f1 as hyp2f1
from jittape.scipy.special.ufunc_functions import i0 as i0
from jittape.scipy.special.ufunc_functions import i0e as i0e
from jittape.scipy.special.ufunc_functions import i1 as i1
from jittape.scipy.special.ufunc_functions import i1e as i1e
from jittape.scipy.special.ufunc_functions import inv_boxcox as inv_boxcox
from jittape.scipy.special.ufunc_functions import inv_boxcox1p as inv_boxcox1p
from jittape.scipy.special.ufunc_functions import iv as iv
from jittape.scipy.special.ufunc_functions import ive as ive
from jittape.scipy.special.ufunc_functions import j0 as j0
from jittape.scipy.special.ufunc_functions import j1 as j1
from jittape.scipy.special.ufunc_functions import jv as jv
from jittape.scipy.special.ufunc_functions import k0 as k0
from jittape.scipy.special.ufunc_functions import k0e as k0e
from jittape.scipy.special.ufunc_functions import k1 as k1
from jittape.scipy.special.ufunc_functions import k1e as k1e
from jittape.scipy.special.ufunc_functions import kl_div as kl_div
from jittape.scipy.special.ufunc_functions import kv as kv
from jittape.scipy.special.ufunc_functions import kve as kve
from jittape.scipy.special.ufunc_functions import log1p as log1p
from jittape.scipy.special.ufunc_functions import log_expit as log_expit
from jittape.scipy.special.ufunc_functions import log_ndtr as log_ndtr
from jittape.scipy.special.ufunc_functions import loggamma as loggamma
from jittape.scipy.special.ufunc_functions import logit as logit
from jittape.scipy.special.ufunc_functions import ndtr as ndtr
from jittape.scipy.special.ufunc_functions import ndtri as ndtri
from jittape.scipy.special.ufunc_functions import ndtri_exp as ndtri_exp
from jittape.scipy.special.ufunc_functions import pdtr as pdtr
from jittape.scipy.special.ufunc_functions import pdtrc as pdtrc
from jittape.scipy.special.ufunc_functions import poch as poch
from jittape.scipy.special.ufunc_functions import pseudo_huber as pseudo_huber
from jittape.scipy.special.ufunc_functions import psi as psi
from jittape.scipy.special.ufunc_functions import rel_entr as rel_entr
from jittape.scipy.special.ufunc_functions import round as round
from jittape.scipy.special.ufunc_functions import spence as spence
from jittape.scipy.special.ufunc_functions import stdtr as stdtr
from jittape.scipy.special.ufunc_functions import stdtrit as stdtrit
from jittape.scipy.special.ufunc_functions import xlog1py as xlog1py
from jittape.scipy.special.ufunc_functions import xlogy as xlogy
from jittape.scipy.special.ufunc_functions import y0 as y0
from jittape.scipy.special.ufunc_functions import y1 as y1
from jittape.scipy.special.ufunc_functions import yv as yv

__all__ = [
    "beta",
    "betainc",
    "betaincc",
    "betaincinv",
    "betaln",
    "binom",
    "boxcox",
    "boxcox1p",
    "chdtr",
    "chdtrc",
    "comb",
    "cosm1",
    "dawsn",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfi",
    "erfinv",
    "exp1",
    "exp2",
    "exp10",
    "expi",
    "expit",
    "expm1",
    "expn",
    "exprel",
    "factorial",
    "fdtr",
    "fdtrc",
    "fresnel",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "gammaln",
    "gammasgn",
    "gdtr",
    "gdtrc",
    "huber",
    "hyp0f1",
    "hyp1f1",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "inv_boxcox",
    "inv_boxcox1p",
    "iv",
    "ive",
    "j0",
    "j1",
    "jv",
    "k0",
    "k0e",
    "k1",
    "k1e",
    "kl_div",
    "kv",
    "kve",
    "log1p",
    "log_expit",
    "log_ndtr",
    "log_softmax",
    "loggamma",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "ndtri_exp",
    "pdtr",
    "pdtrc",
    "poch",
    "polygamma",
    "pseudo_huber",
    "psi",
    "rel_entr",
    "round",
    "sinc",
    "softmax",
    "softplus",
    "spence",
    "stdtr",
    "stdtrit",
    "xlog1py",
    "xlogy",
    "y0",
    "y1",
    "yv",
    "zeta",
]  # fmt: skip

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
