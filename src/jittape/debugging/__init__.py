"""``jt.debugging``: assertions, and checks for nan and infinities, under TensorFlow's names."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.debugging.numerics_checks import assert_all_finite as assert_all_finite
from jittape.debugging.numerics_checks import check_numerics as check_numerics
from jittape.debugging.numerics_checks import disable_check_numerics as disable_check_numerics
from jittape.debugging.numerics_checks import enable_check_numerics as enable_check_numerics
from jittape.debugging.sign_assertions import assert_negative as assert_negative
from jittape.debugging.sign_assertions import assert_non_negative as assert_non_negative
from jittape.debugging.sign_assertions import assert_non_positive as assert_non_positive
from jittape.debugging.sign_assertions import assert_positive as assert_positive
from jittape.debugging.structure_assertions import assert_integer as assert_integer
from jittape.debugging.structure_assertions import assert_proper_iterable as assert_proper_iterable
from jittape.debugging.structure_assertions import assert_rank as assert_rank
from jittape.debugging.structure_assertions import assert_rank_at_least as assert_rank_at_least
from jittape.debugging.structure_assertions import assert_rank_in as assert_rank_in
from jittape.debugging.structure_assertions import assert_same_float_dtype as assert_same_float_dtype
from jittape.debugging.structure_assertions import assert_scalar as assert_scalar
from jittape.debugging.structure_assertions import assert_shapes as assert_shapes
from jittape.debugging.structure_assertions import assert_type as assert_type
from jittape.debugging.structure_assertions import is_numeric_tensor as is_numeric_tensor
from jittape.debugging.traceback_filtering import disable_traceback_filtering as disable_traceback_filtering
from jittape.debugging.traceback_filtering import enable_traceback_filtering as enable_traceback_filtering
from jittape.debugging.traceback_filtering import (
    is_traceback_filtering_enabled as is_traceback_filtering_enabled,
)
from jittape.debugging.value_assertions import Assert as Assert
from jittape.debugging.value_assertions import assert_equal as assert_equal
from jittape.debugging.value_assertions import assert_greater as assert_greater
from jittape.debugging.value_assertions import assert_greater_equal as assert_greater_equal
from jittape.debugging.value_assertions import assert_less as assert_less
from jittape.debugging.value_assertions import assert_less_equal as assert_less_equal
from jittape.debugging.value_assertions import assert_near as assert_near
from jittape.debugging.value_assertions import assert_none_equal as assert_none_equal
from jittape.lazy_names import lazily as _lazily

if _TYPE_CHECKING:
    from jittape.debugging.nan_origin import Origin as Origin
    from jittape.debugging.nan_trace import NanTrace as NanTrace
    from jittape.debugging.nan_trace import trace_nans as trace_nans
    from jittape.debugging.precision import PrecisionLoss as PrecisionLoss
    from jittape.debugging.precision import PrecisionReport as PrecisionReport
    from jittape.debugging.precision import compare_precision as compare_precision

__all__ = [
    "Assert", "NanTrace", "Origin", "PrecisionLoss", "PrecisionReport", "assert_all_finite", "assert_equal",
    "assert_greater", "assert_greater_equal", "assert_integer", "assert_less", "assert_less_equal", "assert_near",
    "assert_negative", "assert_non_negative", "assert_non_positive", "assert_none_equal", "assert_positive",
    "assert_proper_iterable", "assert_rank", "assert_rank_at_least", "assert_rank_in", "assert_same_float_dtype",
    "assert_scalar", "assert_shapes", "assert_type", "check_numerics", "compare_precision",
    "disable_check_numerics", "disable_traceback_filtering", "enable_check_numerics",
    "enable_traceback_filtering", "is_numeric_tensor", "is_traceback_filtering_enabled", "trace_nans",
]  # fmt: skip

__getattr__ = _lazily(
    __name__,
    {
        "jittape.debugging.nan_origin": ("Origin",),
        "jittape.debugging.nan_trace": ("NanTrace", "trace_nans"),
        "jittape.debugging.precision": ("PrecisionLoss", "PrecisionReport", "compare_precision"),
    },
)


def __dir__() -> list[str]:
    return __all__
