"""Integrals, polynomials and waves under SciPy's names and parameters. SciPy computes their values between kernels."""

from __future__ import annotations

from jittape.scipy.special.ufunc_factory import ufunc_function
from jittape.scipy.special.ufunc_functions import jv

__all__ = [
    "agm", "airy", "airye", "bei", "beip", "ber", "berp", "besselpoly", "cbrt", "cosdg", "cotdg", "ellipe",
    "ellipeinc", "ellipj", "ellipk", "ellipkinc", "ellipkm1", "elliprc", "elliprd", "elliprf", "elliprg", "elliprj",
    "eval_chebyc", "eval_chebys", "eval_chebyt", "eval_chebyu", "eval_gegenbauer", "eval_genlaguerre",
    "eval_hermite", "eval_hermitenorm", "eval_jacobi", "eval_laguerre", "eval_legendre", "eval_sh_chebyt",
    "eval_sh_chebyu", "eval_sh_jacobi", "eval_sh_legendre", "hankel1", "hankel1e", "hankel2", "hankel2e", "hyperu",
    "it2i0k0", "it2j0y0", "it2struve0", "itairy", "iti0k0", "itj0y0", "itmodstruve0", "itstruve0", "jn", "jve",
    "kei", "keip", "kelvin", "ker", "kerp", "kn", "log_wright_bessel", "lpmv", "mathieu_a", "mathieu_b",
    "mathieu_cem", "mathieu_modcem1", "mathieu_modcem2", "mathieu_modsem1", "mathieu_modsem2", "mathieu_sem",
    "modfresnelm", "modfresnelp", "modstruve", "obl_ang1", "obl_ang1_cv", "obl_cv", "obl_rad1", "obl_rad1_cv",
    "obl_rad2", "obl_rad2_cv", "pbdv", "pbvv", "pbwa", "powm1", "pro_ang1", "pro_ang1_cv", "pro_cv", "pro_rad1",
    "pro_rad1_cv", "pro_rad2", "pro_rad2_cv", "radian", "rgamma", "shichi", "sici", "sindg", "struve", "tandg",
    "wright_bessel", "wrightomega", "yn", "yve", "zetac",
]  # fmt: skip

agm = ufunc_function("agm", "a b", "Return the arithmetic-geometric mean.")
airye = ufunc_function(
    "airye",
    "z",
    "Return the Airy functions times exponentials, which do not overflow.",
    returns="tuple of Tensor",
)
airy = ufunc_function(
    "airy",
    "z",
    "Return the Airy functions Ai and Bi and their derivatives: Ai, Ai', Bi, Bi'.",
    returns="tuple of Tensor",
)
beip = ufunc_function("beip", "x", "Return the derivative of `bei`.")
bei = ufunc_function("bei", "x", "Return the Kelvin function bei.")
berp = ufunc_function("berp", "x", "Return the derivative of `ber`.")
ber = ufunc_function("ber", "x", "Return the Kelvin function ber.")
besselpoly = ufunc_function(
    "besselpoly", "a lmb nu", "Return a weighted integral of a Bessel function.", constant="a, lmb and nu"
)
cbrt = ufunc_function("cbrt", "x", "Return the real cube root.")
cosdg = ufunc_function("cosdg", "x", "Return the cosine of an angle in degrees.")
cotdg = ufunc_function("cotdg", "x", "Return the cotangent of an angle in degrees.")
ellipeinc = ufunc_function(
    "ellipeinc", "phi m", "Return the incomplete elliptic integral of the second kind."
)
ellipe = ufunc_function("ellipe", "m", "Return the complete elliptic integral of the second kind.")
ellipj = ufunc_function(
    "ellipj",
    "u m",
    "Return the Jacobian elliptic functions sn, cn, dn and the amplitude.",
    returns="tuple of Tensor",
)
ellipkinc = ufunc_function("ellipkinc", "phi m", "Return the incomplete elliptic integral of the first kind.")
ellipkm1 = ufunc_function("ellipkm1", "p", "Return ``ellipk(1 - p)``, accurate near ``p = 0``.")
ellipk = ufunc_function("ellipk", "m", "Return the complete elliptic integral of the first kind.")
elliprc = ufunc_function("elliprc", "x y", "Return Carlson's degenerate elliptic integral.")
elliprd = ufunc_function(
    "elliprd", "x y z", "Return Carlson's elliptic integral of the second kind.", constant="x, y and z"
)
elliprf = ufunc_function("elliprf", "x y z", "Return Carlson's elliptic integral of the first kind.")
elliprg = ufunc_function(
    "elliprg",
    "x y z",
    "Return Carlson's symmetric elliptic integral of the second kind.",
    constant="x, y and z",
)
elliprj = ufunc_function(
    "elliprj", "x y z p", "Return Carlson's elliptic integral of the third kind.", constant="x, y, z and p"
)
eval_chebyc = ufunc_function(
    "eval_chebyc", "n x", "Return the Chebyshev polynomial C of degree n on [-2, 2].", constant="n"
)
eval_chebys = ufunc_function(
    "eval_chebys", "n x", "Return the Chebyshev polynomial S of degree n on [-2, 2].", constant="n"
)
eval_chebyt = ufunc_function(
    "eval_chebyt", "n x", "Return the Chebyshev polynomial of the first kind.", constant="n"
)
eval_chebyu = ufunc_function(
    "eval_chebyu", "n x", "Return the Chebyshev polynomial of the second kind.", constant="n"
)
eval_gegenbauer = ufunc_function(
    "eval_gegenbauer", "n alpha x", "Return the Gegenbauer polynomial.", constant="n and alpha"
)
eval_genlaguerre = ufunc_function(
    "eval_genlaguerre", "n alpha x", "Return the generalized Laguerre polynomial.", constant="n and alpha"
)
eval_hermitenorm = ufunc_function(
    "eval_hermitenorm", "n x", "Return the probabilists' Hermite polynomial.", constant="n"
)
eval_hermite = ufunc_function(
    "eval_hermite", "n x", "Return the physicists' Hermite polynomial.", constant="n"
)
eval_jacobi = ufunc_function(
    "eval_jacobi", "n alpha beta x", "Return the Jacobi polynomial.", constant="n, alpha and beta"
)
eval_laguerre = ufunc_function("eval_laguerre", "n x", "Return the Laguerre polynomial.", constant="n")
eval_legendre = ufunc_function("eval_legendre", "n x", "Return the Legendre polynomial.", constant="n")
eval_sh_chebyt = ufunc_function(
    "eval_sh_chebyt", "n x", "Return the shifted Chebyshev polynomial of the first kind.", constant="n"
)
eval_sh_chebyu = ufunc_function(
    "eval_sh_chebyu", "n x", "Return the shifted Chebyshev polynomial of the second kind.", constant="n"
)
eval_sh_jacobi = ufunc_function(
    "eval_sh_jacobi", "n p q x", "Return the shifted Jacobi polynomial.", constant="n, p and q"
)
eval_sh_legendre = ufunc_function(
    "eval_sh_legendre", "n x", "Return the shifted Legendre polynomial.", constant="n"
)
hankel1e = ufunc_function("hankel1e", "v z", "Return ``exp(-iz) hankel1(v, z)``.", constant="v")
hankel1 = ufunc_function("hankel1", "v z", "Return the Hankel function of the first kind.", constant="v")
hankel2e = ufunc_function("hankel2e", "v z", "Return ``exp(iz) hankel2(v, z)``.", constant="v")
hankel2 = ufunc_function("hankel2", "v z", "Return the Hankel function of the second kind.", constant="v")
hyperu = ufunc_function(
    "hyperu", "a b x", "Return the confluent hypergeometric function U.", constant="a and b"
)
it2i0k0 = ufunc_function(
    "it2i0k0",
    "x",
    "Return the integrals of ``(i0(t) - 1) / t`` from 0 and of ``k0(t) / t`` to infinity.",
    returns="tuple of Tensor",
)
it2j0y0 = ufunc_function(
    "it2j0y0",
    "x",
    "Return the integrals of ``(1 - j0(t)) / t`` from 0 and of ``y0(t) / t`` to infinity.",
    returns="tuple of Tensor",
)
it2struve0 = ufunc_function("it2struve0", "x", "Return the integral of ``struve(0, t) / t`` to infinity.")
itairy = ufunc_function(
    "itairy",
    "x",
    "Return the integrals of Ai(t), Bi(t), Ai(-t) and Bi(-t) from 0.",
    returns="tuple of Tensor",
)
iti0k0 = ufunc_function(
    "iti0k0", "x", "Return the integrals of `i0` and `k0` from 0.", returns="tuple of Tensor"
)
itj0y0 = ufunc_function(
    "itj0y0", "x", "Return the integrals of `j0` and `y0` from 0.", returns="tuple of Tensor"
)
itmodstruve0 = ufunc_function("itmodstruve0", "x", "Return the integral of ``modstruve(0, t)`` from 0.")
itstruve0 = ufunc_function("itstruve0", "x", "Return the integral of ``struve(0, t)`` from 0.")
jve = ufunc_function(
    "jve", "v z", "Return ``jv(v, z)`` without its growth along imaginary numbers.", constant="v"
)
keip = ufunc_function("keip", "x", "Return the derivative of `kei`.")
kei = ufunc_function("kei", "x", "Return the Kelvin function kei.")
kelvin = ufunc_function(
    "kelvin",
    "x",
    "Return the Kelvin functions ``ber + i bei``, ``ker + i kei`` and their derivatives.",
    returns="tuple of Tensor",
)
kerp = ufunc_function("kerp", "x", "Return the derivative of `ker`.")
ker = ufunc_function("ker", "x", "Return the Kelvin function ker.")
kn = ufunc_function(
    "kn", "n x", "Return the modified Bessel function of the second kind of integer order.", constant="n"
)
log_wright_bessel = ufunc_function(
    "log_wright_bessel", "a b x", "Return the logarithm of `wright_bessel`.", constant="a and b"
)
lpmv = ufunc_function(
    "lpmv",
    "m v x",
    "Return the associated Legendre function of integer order and real degree.",
    constant="m and v",
)
mathieu_a = ufunc_function(
    "mathieu_a", "m q", "Return the characteristic value of the even Mathieu functions.", constant="m and q"
)
mathieu_b = ufunc_function(
    "mathieu_b", "m q", "Return the characteristic value of the odd Mathieu functions.", constant="m and q"
)
mathieu_cem = ufunc_function(
    "mathieu_cem",
    "m q x",
    "Return the even Mathieu function and its derivative, for an angle in degrees.",
    constant="m and q",
    returns="tuple of Tensor",
)
mathieu_modcem1 = ufunc_function(
    "mathieu_modcem1",
    "m q x",
    "Return the even modified Mathieu function of the first kind and its derivative.",
    constant="m and q",
    returns="tuple of Tensor",
)
mathieu_modcem2 = ufunc_function(
    "mathieu_modcem2",
    "m q x",
    "Return the even modified Mathieu function of the second kind and its derivative.",
    constant="m and q",
    returns="tuple of Tensor",
)
mathieu_modsem1 = ufunc_function(
    "mathieu_modsem1",
    "m q x",
    "Return the odd modified Mathieu function of the first kind and its derivative.",
    constant="m and q",
    returns="tuple of Tensor",
)
mathieu_modsem2 = ufunc_function(
    "mathieu_modsem2",
    "m q x",
    "Return the odd modified Mathieu function of the second kind and its derivative.",
    constant="m and q",
    returns="tuple of Tensor",
)
mathieu_sem = ufunc_function(
    "mathieu_sem",
    "m q x",
    "Return the odd Mathieu function and its derivative, for an angle in degrees.",
    constant="m and q",
    returns="tuple of Tensor",
)
modfresnelm = ufunc_function(
    "modfresnelm",
    "x",
    "Return the modified Fresnel integrals minus; the slope below 0, where SciPy is wrong, is nan.",
    returns="tuple of Tensor",
)
modfresnelp = ufunc_function(
    "modfresnelp",
    "x",
    "Return the modified Fresnel integrals plus; the slope below 0, where SciPy is wrong, is nan.",
    returns="tuple of Tensor",
)
modstruve = ufunc_function("modstruve", "v x", "Return the modified Struve function.", constant="v")
obl_ang1_cv = ufunc_function(
    "obl_ang1_cv",
    "m n c cv x",
    "Return `obl_ang1` for a known characteristic value.",
    constant="m, n, c and cv",
    returns="tuple of Tensor",
)
obl_ang1 = ufunc_function(
    "obl_ang1",
    "m n c x",
    "Return the oblate spheroidal angular function of the first kind and its derivative.",
    constant="m, n and c",
    returns="tuple of Tensor",
)
obl_cv = ufunc_function(
    "obl_cv",
    "m n c",
    "Return the characteristic value of oblate spheroidal functions.",
    constant="m, n and c",
)
obl_rad1_cv = ufunc_function(
    "obl_rad1_cv",
    "m n c cv x",
    "Return `obl_rad1` for a known characteristic value.",
    constant="m, n, c and cv",
    returns="tuple of Tensor",
)
obl_rad1 = ufunc_function(
    "obl_rad1",
    "m n c x",
    "Return the oblate spheroidal radial function of the first kind and its derivative.",
    constant="m, n and c",
    returns="tuple of Tensor",
)
obl_rad2_cv = ufunc_function(
    "obl_rad2_cv",
    "m n c cv x",
    "Return `obl_rad2` for a known characteristic value.",
    constant="m, n, c and cv",
    returns="tuple of Tensor",
)
obl_rad2 = ufunc_function(
    "obl_rad2",
    "m n c x",
    "Return the oblate spheroidal radial function of the second kind and its derivative.",
    constant="m, n and c",
    returns="tuple of Tensor",
)
pbdv = ufunc_function(
    "pbdv",
    "v x",
    "Return the parabolic cylinder function D and its derivative.",
    constant="v",
    returns="tuple of Tensor",
)
pbvv = ufunc_function(
    "pbvv",
    "v x",
    "Return the parabolic cylinder function V and its derivative.",
    constant="v",
    returns="tuple of Tensor",
)
pbwa = ufunc_function(
    "pbwa",
    "a x",
    "Return the parabolic cylinder function W and its derivative.",
    constant="a",
    returns="tuple of Tensor",
)
powm1 = ufunc_function("powm1", "x y", "Return ``x**y - 1``, accurate if the power is nearly 1.")
pro_ang1_cv = ufunc_function(
    "pro_ang1_cv",
    "m n c cv x",
    "Return `pro_ang1` for a known characteristic value.",
    constant="m, n, c and cv",
    returns="tuple of Tensor",
)
pro_ang1 = ufunc_function(
    "pro_ang1",
    "m n c x",
    "Return the prolate spheroidal angular function of the first kind and its derivative.",
    constant="m, n and c",
    returns="tuple of Tensor",
)
pro_cv = ufunc_function(
    "pro_cv",
    "m n c",
    "Return the characteristic value of prolate spheroidal functions.",
    constant="m, n and c",
)
pro_rad1_cv = ufunc_function(
    "pro_rad1_cv",
    "m n c cv x",
    "Return `pro_rad1` for a known characteristic value.",
    constant="m, n, c and cv",
    returns="tuple of Tensor",
)
pro_rad1 = ufunc_function(
    "pro_rad1",
    "m n c x",
    "Return the prolate spheroidal radial function of the first kind and its derivative.",
    constant="m, n and c",
    returns="tuple of Tensor",
)
pro_rad2_cv = ufunc_function(
    "pro_rad2_cv",
    "m n c cv x",
    "Return `pro_rad2` for a known characteristic value.",
    constant="m, n, c and cv",
    returns="tuple of Tensor",
)
pro_rad2 = ufunc_function(
    "pro_rad2",
    "m n c x",
    "Return the prolate spheroidal radial function of the second kind and its derivative.",
    constant="m, n and c",
    returns="tuple of Tensor",
)
radian = ufunc_function("radian", "d m s", "Return an angle of degrees, minutes and seconds in radians.")
rgamma = ufunc_function("rgamma", "z", "Return ``1 / gamma(z)``.")
shichi = ufunc_function(
    "shichi", "x", "Return the hyperbolic sine and cosine integrals.", returns="tuple of Tensor"
)
sici = ufunc_function("sici", "x", "Return the sine and cosine integrals.", returns="tuple of Tensor")
sindg = ufunc_function("sindg", "x", "Return the sine of an angle in degrees.")
struve = ufunc_function("struve", "v x", "Return the Struve function.", constant="v")
tandg = ufunc_function("tandg", "x", "Return the tangent of an angle in degrees.")
wright_bessel = ufunc_function(
    "wright_bessel", "a b x", "Return Wright's generalized Bessel function.", constant="a and b"
)
wrightomega = ufunc_function(
    "wrightomega", "z", "Return Wright's omega function, the solution of ``w + log(w) = z``."
)
yn = ufunc_function(
    "yn", "n x", "Return the Bessel function of the second kind of integer order.", constant="n"
)
yve = ufunc_function(
    "yve", "v z", "Return ``yv(v, z)`` without its growth along imaginary numbers.", constant="v"
)
zetac = ufunc_function("zetac", "x", "Return Riemann's zeta function minus 1.", constant="x")
jn = jv
