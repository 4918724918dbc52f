"""``jt.data``: input pipelines in the style of `tf.data`."""

from jittape.data.dataset import AUTOTUNE as AUTOTUNE
from jittape.data.dataset import Dataset as Dataset
from jittape.data.dataset_iterator import Iterator as Iterator
from jittape.data.element_specs import DatasetSpec as DatasetSpec
from jittape.data.iteration import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from jittape.data.iteration import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
from jittape.lazy_names import lazily as _lazily

__all__ = ["AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "Dataset", "DatasetSpec", "Iterator"]

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
