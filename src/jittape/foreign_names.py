"""Attributes that other libraries' tensors, layers and other objects have: using one says what to write instead.

`ATTRIBUTES_LEFT_OUT` lists TensorFlow's attributes that jittape does not have, by class; the documentation shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import getattr_static
from typing import Any, NoReturn, TypeVar

__all__ = [
    "ATTRIBUTES_LEFT_OUT",
    "NUMPY_MEMORY",
    "PYTORCH_AND_JAX",
    "ForeignName",
    "advice_for",
    "with_foreign_names",
]

Class = TypeVar("Class", bound=type)


class ForeignName:
    """An attribute that other libraries have: reading it raises an `AttributeError` with advice, so `hasattr` is False.

    A method ``__getattr__`` of the class could do the same, and make all attributes of tensors slower.
    """

    __slots__ = ("_advice", "_name")

    def __init__(self, name: str, advice: str) -> None:
        self._name, self._advice = name, advice

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        raise AttributeError(f"{owner.__name__} has no {self._name!r}: {self._advice}")


def with_foreign_names(*tables: Mapping[str, str]) -> Callable[[Class], Class]:
    """Return a decorator that adds `ForeignName` attributes to a class; ``dir`` does not list them.

    The keys of a table are names separated by spaces, and its values advice.
    """
    advice = {name: text for table in tables for names, text in table.items() for name in names.split()}

    def decorated(cls: Class) -> Class:
        for name, text in advice.items():
            if name not in vars(cls):
                setattr(cls, name, ForeignName(name, text))

        def listed(self: Any) -> list[str]:
            own = getattr(self, "__dict__", ())
            return [
                name
                for name in object.__dir__(self)
                if name in own or not isinstance(getattr_static(type(self), name, None), ForeignName)
            ]

        cls.__dir__ = listed  # type: ignore[method-assign, assignment]
        return cls

    return decorated


def advice_for(table: Mapping[str, str], name: str) -> str | None:
    """Return the advice of a table for a name; None if the table does not have the name."""
    return next((text for names, text in table.items() if name in names.split()), None)


PYTORCH_AND_JAX = {
    "backward": "use `with jt.GradientTape() as tape:` and tape.gradient(loss, variables)",
    "grad": "a gradient is the result of tape.gradient(loss, variables) or of jt.grad(f)",
    "requires_grad requires_grad_": "use a jt.Variable, or tape.watch(x)",
    "grad_fn": "tape.explain(target, source) says how they are connected",
    "detach": "use jt.stop_gradient(x)",
    "cpu": "all tensors are in main memory; use x.numpy() for an array",
    "cuda": "all tensors are in main memory",
    "to": "use jt.cast(x, dtype); all tensors are in main memory",
    "at": "use x[i] = value, or jt.tensor_scatter_nd_update",
    "numel": "use x.size",
    "unsqueeze": "use jt.expand_dims(x, axis)",
    "permute": "use jt.transpose(x, axes)",
    "block_until_ready": "use x.numpy(), which runs pending operations",
}
"""Attributes of PyTorch's and JAX's tensors, and what to use instead."""

NUMPY_MEMORY = {
    "base ctypes data flags setflags strides": "the memory of tensors is jittape's own; x.numpy() is an array",
    "byteswap getfield setfield view": "a tensor has one dtype; use jt.bitcast(x, dtype) or x.astype(dtype)",
    "dump dumps tofile": "use pickle, or the method of x.numpy()",
    "put": "use jittape.numpy.put(x, indices, values), or x[i] = value",
    "resize": "a tensor keeps its size; use x.reshape(shape) or np.resize(x, shape)",
}
"""Attributes of NumPy's arrays that show or change their memory, and what to use instead."""

_SHAPES_AND_DTYPES = {
    "cast flatten from_tensors to_tensors placeholder_value most_specific_common_supertype "
    "most_specific_compatible_type experimental_as_proto experimental_from_proto experimental_type_proto as_proto "
    "value_type": "TensorFlow traces functions with it; use jt.TensorSpec, and jt.nest for structures",
}

_SAVED = {
    "load_own_variables save_own_variables": "use jt.Module.save_weights and load_weights",
    "stateless_apply stateless_call stateless_compute_loss stateless_reset_state stateless_result "
    "stateless_update_state": "objects keep their state in Variables; use jt.function around a call, or jt.grad",
}

_LAYER = {
    **_SAVED,
    "add_metric": "keep a metric of jt.keras.metrics in an attribute and call its update_state",
    "add_variable": "use add_weight(...)",
    "autocast dtype_policy": "a layer computes in the dtype of its weights; use dtype=, or jt.cast",
    "call_signature_parameters": "use inspect.signature(layer.call)",
    "compute_output_spec symbolic_call": "use compute_output_shape(shape), or call the layer with a jt.keras.Input",
    "input_dtype path": "tensors have the dtype; weights have names",
    "input_spec": "a layer checks its inputs in call, for example by jt.ensure_shape",
    "metrics metrics_variables": "jt.keras.Model has them; in a layer, keep metrics in attributes",
    "quantization_mode quantize quantized_build quantized_call": "there are no quantized dtypes; use jt.float16",
    "rematerialized_call": "use jt.recompute_grad(layer)",
    "supports_jit": "each layer works in a jt.function",
}

_MODEL = {
    "compiled_loss": "use compute_loss(x, y, y_pred, sample_weight)",
    "compiled_metrics": "use compute_metrics(x, y, y_pred, sample_weight)",
    "distribute_reduction_method distribute_strategy": "a program runs in one process; use jt.dask to divide data",
    "export save save_spec": "there are no saved models; use to_json and save_weights, jt.train.Checkpoint or pickle",
    "fit_generator predict_generator evaluate_generator": "use fit, predict and evaluate with a jt.data.Dataset",
    "get_quantization_layer_structure": "there are no quantized dtypes",
    "get_state_tree set_state_tree": "use get_weights, set_weights and jt.train.Checkpoint",
    "jit_compile": "each step is compiled, unless run_eagerly is True",
    "make_train_function make_test_function make_predict_function train_function test_function predict_function": (
        "override train_step, test_step or predict_step, or call jt.function(model.train_step)"
    ),
    "metrics_variables": "use the variables of each of metrics",
    "steps_per_execution unrolled_steps_per_execution": "each batch is one step",
}

ATTRIBUTES_LEFT_OUT: dict[str, dict[str, str]] = {
    "Tensor": {
        "OVERLOADABLE_OPERATORS": "operators are methods; use jt.Tensor.__add__ and so on",
        "backing_device": "all tensors are in main memory; use x.device",
        "consumers value_index": "operations are recorded without a graph; use jt.explain()",
        "eval": "operations need no session; use x.numpy()",
        "gpu": "all tensors are in main memory",
        "is_packed": "a program is not divided between devices",
        "name": "tensors have no names; give one to a jt.Variable, or use jt.identity",
    },
    "Variable": {
        "SaveSliceInfo": "a Variable is not divided between devices",
        "aggregation synchronization": "a program runs in one process",
        "count_up_to": "use v.assign_add(1)",
        "create is_initialized initial_value": "a Variable has its value from the start; use v.numpy()",
        "eval": "operations need no session; use v.numpy()",
        "from_proto to_proto": "use pickle, jt.Module.save_weights or jt.train.Checkpoint",
        "handle": "use v.ref() as a key",
        "load": "use v.assign(value)",
        "read_value_no_copy": "use v.value() or v.read_value(), which copy only if they must",
    },
    "DType": {
        "as_datatype_enum": "it is a number of TensorFlow's protocol buffers; use name",
        "is_subtype_of": "use is_compatible_with(other)",
        **_SHAPES_AND_DTYPES,
    },
    "TensorShape": _SHAPES_AND_DTYPES,
    "TensorSpec": {
        "from_spec": "use jt.TensorSpec(spec.shape, spec.dtype)",
        "is_subtype_of": "use is_compatible_with(other)",
        **_SHAPES_AND_DTYPES,
    },
    "keras.layers.Layer": _LAYER,
    "keras.Model": _MODEL,
    "keras.metrics.Metric": _SAVED,
    "keras.optimizers.Optimizer": {
        **_SAVED,
        "built": "build(variables) may be called again with new Variables",
        "get_gradients": "use tape.gradient(loss, variables)",
        "lr": "use learning_rate",
    },
    "keras.losses.Loss": {"fn": "use call(y_true, y_pred)"},
    "keras.initializers.Initializer": {
        "clone": "use type(initializer).from_config(initializer.get_config())",
        "input_axes output_axes": "use jt.keras.initializers.VarianceScaling with the last two dimensions",
    },
    "function": {
        "function_spec function_type": "use signatures() and input_signature",
        "get_initialization_function": "Variables have their values from the start",
    },
    "ConcreteFunction": {
        "add_gradient_functions_to_graph add_to_graph from_func_graph function_def graph inference_fn": (
            "jittape has no graphs; .program is the op list"
        ),
        "captured_inputs replace_capture_with_deferred_capture set_external_captures set_variables": (
            "a function reads the Variables in .variables; pass other values as arguments"
        ),
        "function_type": "use signature and structured_input_signature",
    },
    "data.Dataset": {
        "fingerprint": "use hash(tuple(...)) of the elements",
        "ignore_errors": "use from_generator with a generator that catches them",
        "list_files": "use glob.glob and from_generator",
        "make_initializable_iterator make_one_shot_iterator": "use iter(dataset)",
        "options with_options": "use the arguments of prefetch and map",
        "ragged_batch sparse_batch": "use padded_batch(n)",
        "random": "use counter() and map(function) with jt.random",
        "rejection_resample": "use filter(function)",
        "load save snapshot": "use np.savez and from_tensor_slices",
    },
    "data.Iterator": {
        "get_next_as_optional": "use next(iterator, None)",
        "output_classes output_shapes output_types": "use element_spec",
    },
    "train.Checkpoint": {"sync": "files are complete when save and write return"},
    "train.CheckpointManager": {"sync": "files are complete when save returns"},
    "TensorArray": {
        "flow handle": "the elements are tensors; use stack()",
        "grad": "use tape.gradient with respect to the tensors that were written",
    },
}
"""Attributes of TensorFlow's objects that jittape's do not have, by the path of the class, and what to use instead.

A class inherits those of its bases: a `Model` is a `Layer`.
"""
