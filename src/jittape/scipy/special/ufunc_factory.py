"""The functions of SciPy's ufuncs, made from their names, parameters and summaries."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from jittape.scipy.special.ufunc_calls import call_ufunc
from jittape.typing import Tensor

__all__ = ["ufunc_function"]

TEMPLATE = """{summary}

Parameters
----------
{parameters} : tensor-like
    Numbers that broadcast. Arrays of float32 give float32, those of float16 and small integers what the SciPy that is
    installed gives, all else float64. The error, gamma and Bessel functions, Carlson's and the exponential integrals,
    orthogonal polynomials, `spence`, `expm1`, `log1p`, `xlogy` and `xlog1py` also take complex numbers, for which SciPy
    computes the value.

Returns
-------
{returns}
    Of the broadcast shape{slopes}.

Raises
------
DTypeError
    If an operand is complex and the function is none of these.
TypeError
    If ``out=`` or another keyword of ufuncs is given: a recorded function has no memory to write to.

See Also
--------
scipy.special.{name}

Examples
--------
>>> import scipy.special
>>> arguments = [{arguments}]
>>> ours, theirs = jt.scipy.special.{name}(*arguments), scipy.special.{name}(*arguments)
>>> np.allclose(ours, theirs, rtol=1e-12)
True
"""

ARGUMENTS = {"n": 3, "k": 2.0, "m": 1, "a": 1.5, "b": 2.5, "c": 3.5, "df": 3.0, "dfn": 3.0, "dfd": 4.0,
             "ndtri_exp": -0.5}  # fmt: skip
"""Arguments in the examples, by parameter or function; others are 0.5."""
EXAMPLES = {
    **dict.fromkeys(["pro_rad1", "pro_rad2"], "1, 3, 3.5, 1.5"),
    **dict.fromkeys(["pro_rad1_cv", "pro_rad2_cv"], "1, 3, 3.5, 2.0, 1.5"),
}
"""Arguments in the examples of functions that are defined elsewhere."""


def ufunc_function(
    name: str, parameters: str, summary: str, *, constant: str = "", returns: str = "Tensor"
) -> Callable[..., Tensor]:
    """Return the function `name`; no derivative exists with respect to the parameters in `constant`."""
    names = parameters.split()

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            unknown = sorted(set(kwargs) - set(names))
            if unknown:
                raise TypeError(
                    f"[{name}] {unknown[0]}= is not supported on tensors; use the result, and cast it with jt.cast"
                )
            args = tuple(signature.bind(*args, **kwargs).args)
        if len(args) != len(names):
            raise TypeError(f"[{name}] takes {len(names)} arguments ({', '.join(names)}), got {len(args)}")
        return call_ufunc(name, *args)

    signature = Signature([Parameter(n, Parameter.POSITIONAL_OR_KEYWORD) for n in names])
    call.__code__ = call.__code__.replace(co_name=name)  # messages name the function
    call.__name__ = call.__qualname__ = name
    call.__signature__ = signature  # type: ignore[attr-defined]
    slopes = f"; differentiable, not with respect to {constant}" if constant else "; differentiable"
    call.__doc__ = TEMPLATE.format(
        name=name,
        summary=summary,
        parameters=", ".join(names),
        returns=returns,
        slopes=slopes,
        arguments=EXAMPLES.get(name)
        or ", ".join(str(ARGUMENTS.get(name, ARGUMENTS.get(n, 0.5))) for n in names),
    )
    return call
