"""`GammaFunctions`: the functions of the gamma and beta families in the math namespace."""

from __future__ import annotations

from jittape.vectormath.gamma_family import beta_derivatives, lbeta
from jittape.vectormath.gamma_family import betainc as incomplete_beta
from jittape.vectormath.gamma_family import gamma as gamma_function
from jittape.vectormath.gamma_family import igamma as incomplete
from jittape.vectormath.gamma_family import polygamma_differences as differences
from jittape.vectormath.gamma_family import zeta as zetas

__all__ = ["GammaFunctions"]


class GammaFunctions:
    """Functions of the gamma and beta families as methods of the math namespace; the formulas document them."""

    gamma = gamma_function.gamma
    betaln = gamma_function.betaln
    polygamma = zetas.polygamma
    polygamma_difference = differences.polygamma_difference
    tensor_polygamma = zetas.tensor_polygamma
    zeta = zetas.zeta
    zeta_slope = zetas.zeta_slope

    igamma = incomplete.igamma
    igammac = incomplete.igammac
    igamma_slope = incomplete.igamma_slope
    gamma_density = incomplete.gamma_density
    log_minus_digamma = incomplete.log_minus_digamma

    betainc = incomplete_beta.betainc
    betainc_slope = beta_derivatives.betainc_slope
    beta_density = incomplete_beta.beta_density

    lbeta_term = lbeta.lbeta_term
    lbeta_term_of_total = lbeta.lbeta_term_of_total
    lbeta_word = lbeta.lbeta_word
    lbeta_word_of_total = lbeta.lbeta_word_of_total
    lbeta_sum = lbeta.lbeta_sum
    leading_part = lbeta.leading_part
    log_word = lbeta.log_word
    sum_error = lbeta.sum_error
