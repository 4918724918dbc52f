"""``jt.keras.saving``: objects as plain values, and the names of classes and functions in configs."""

from jittape.keras.saving.object_configs import deserialize_keras_object as deserialize_keras_object
from jittape.keras.saving.object_configs import serialize_keras_object as serialize_keras_object
from jittape.keras.saving.registered_objects import CustomObjectScope as CustomObjectScope
from jittape.keras.saving.registered_objects import custom_object_scope as custom_object_scope
from jittape.keras.saving.registered_objects import get_custom_objects as get_custom_objects
from jittape.keras.saving.registered_objects import get_registered_name as get_registered_name
from jittape.keras.saving.registered_objects import get_registered_object as get_registered_object
from jittape.keras.saving.registered_objects import register_keras_serializable as register_keras_serializable
from jittape.lazy_names import lazily as _lazily

__all__ = [
    "CustomObjectScope", "custom_object_scope", "deserialize_keras_object", "get_custom_objects",
    "get_registered_name", "get_registered_object", "register_keras_serializable", "serialize_keras_object",
]  # fmt: skip

__getattr__ = _lazily(__name__, {})


def __dir__() -> list[str]:
    return __all__
