"""``jt.keras.ops``: operations under the names, arguments and dtypes of Keras 3.

They are functions of jittape. Symbolic tensors among the arguments make the operation a part of a functional model.

Examples
--------
>>> import jittape as jt
>>> ops = jt.keras.ops
>>> ops.mean(ops.square([1, 2, 3]), axis=-1, keepdims=True).numpy()
array([4.6666665], dtype=float32)
"""

from typing import Any as _Any


def __getattr__(name: str) -> _Any:
    from jittape.keras.ops.public_operations import NAMES, find

    return NAMES if name == "__all__" else find(name)


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))
