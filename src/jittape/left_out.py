"""Public names of TensorFlow that jittape does not have, and what to use instead.

The documentation lists `LEFT_OUT`, and `AttributeError`s quote it. A name is a pattern of `fnmatch` below ``jittape``.
"""

from __future__ import annotations

import difflib
import sys
from fnmatch import fnmatchcase
from functools import reduce
from typing import Any, NamedTuple

__all__ = ["LEFT_OUT", "LeftOut", "explanation", "left_out"]


class LeftOut(NamedTuple):
    """Names that are missing for one reason.

    Attributes
    ----------
    names : str
        Patterns, separated by spaces.
    reason : str
    instead : str
        The nearest thing in jittape; empty if there is none.
    """

    names: str
    reason: str
    instead: str = ""


LEFT_OUT = (
    LeftOut(
        "Graph Operation RegisterGradient graph_util import_graph_def no_gradient compat raw_ops mlir "
        "variable_creator_scope nondifferentiable_batch_function register_tensor_conversion_function AggregationMethod "
        "CriticalSection keras.Function keras.Operation keras.KerasTensor keras.StatelessScope "
        "keras.SymbolicScope test.assert_equal_graph_def test.with_eager_op_as_function",
        "there are no graphs: operations are recorded and compiled",
        "jt.function, jt.custom_gradient",
    ),
    LeftOut("gradients", "gradients belong to a tape", "jt.GradientTape or jt.grad"),
    LeftOut("hessians", "Hessians are functions of a function", "jt.hessian or tape.jacobian"),
    LeftOut("guarantee_const check_pinned", "a program is not divided between devices", "jt.identity"),
    LeftOut("tuple parallel_stack", "operations run in the order of the program", "jt.identity_n, jt.stack"),
    LeftOut(
        "ragged RaggedTensor RaggedTensorSpec ragged_fill_empty_rows*",
        "there are no ragged tensors: pad the rows",
        "jt.sequence_mask, jt.where or jt.math.segment_sum",
    ),
    LeftOut(
        "sparse SparseTensor SparseTensorSpec IndexedSlicesSpec sets edit_distance "
        "nn.embedding_lookup_sparse nn.safe_embedding_lookup_sparse",
        "there are no sparse tensors",
        "jt.gather, jt.scatter_nd or jt.math.segment_sum",
    ),
    LeftOut(
        "strings string as_string fingerprint dtypes.string lookup keras.layers.*Lookup keras.layers.Hashing "
        "keras.layers.HashedCrossing keras.layers.TextVectorization keras.layers.Discretization "
        "keras.layers.CategoryEncoding",
        "there are no string tensors",
        "Python's str, or np.unique, to turn text into integers",
    ),
    LeftOut(
        "qint8 qint16 qint32 quint8 quint16 quantization dtypes.q* dtypes.QUANTIZED_DTYPES keras.Quantizer "
        "keras.quantizers ",
        "there are no quantized dtypes",
        "jt.float16 or jt.int8",
    ),
    LeftOut(
        "resource variant dtypes.resource dtypes.variant queue OptionalSpec NoneTensorSpec "
        "TensorArraySpec TypeSpec type_spec_from_value make_ndarray make_tensor_proto "
        "dtypes.experimental",
        "there are no types besides tensors of numbers",
        "jt.Tensor, jt.Variable and jt.TensorSpec",
    ),
    LeftOut("types", "types for annotations are in one module", "TensorLike and Tensor of jittape.typing"),
    LeftOut(
        "DeviceSpec tpu xla config.*device* config.LogicalDevice* config.PhysicalDevice config.experimental* "
        "config.optimizer sysconfig test.gpu_device_name test.is_* debugging.*device_placement keras.device",
        "jittape computes on the processor and has no other devices",
        "jt.config and python -m jittape doctor",
    ),
    LeftOut("config.threading", "one setting gives the number of threads", "jt.config.threads"),
    LeftOut(
        "distribute dtensor VariableAggregation VariableSynchronization train.Cluster* train.Coordinator train.*Def "
        "keras.distribution test.create_local_cluster nn.compute_average_loss "
        "nn.scale_regularization_loss keras.losses.Reduction",
        "a program runs in one process",
        "jt.reduce_mean for averages of losses",
    ),
    LeftOut(
        "saved_model lite keras.export keras.layers.TFSMLayer keras.legacy io load_library load_op_library",
        "there are no saved models",
        "jt.Module.save_weights, jt.train.Checkpoint or pickle",
    ),
    LeftOut(
        "train.*List train.*Lists train.Example train.SequenceExample train.Feature* data.*RecordDataset "
        "data.TextLineDataset data.FixedLengthRecordDataset",
        "files of records are not read",
        "np.load and jt.data.Dataset.from_tensor_slices",
    ),
    LeftOut(
        "train.CheckpointOptions train.CheckpointView train.TrackableView train.checkpoints_iterator",
        "a checkpoint is one .npz file",
        "jt.train.load_checkpoint or np.load",
    ),
    LeftOut("train.ExponentialMovingAverage", "optimizers keep averages", "use_ema=True of an optimizer"),
    LeftOut("train.experimental", "there are no other checkpoints", "jt.train.Checkpoint"),
    LeftOut(
        "data.IteratorSpec data.NumpyIterator data.Options data.ThreadingOptions",
        "a dataset is iterated over with Python's for",
        "jt.data.Dataset and iter(dataset), whose position jt.train.Checkpoint saves",
    ),
    LeftOut(
        "data.experimental", "its parts have lasting names", "jt.data.AUTOTUNE and the methods of jt.data.Dataset"
    ),
    LeftOut(
        "summary profiler keras.visualization",
        "events are not written to files",
        "jt.profile, jt.stats, jt.keras.callbacks.CSVLogger and the history of fit",
    ),
    LeftOut(
        "image audio extract_volume_patches keras.applications keras.datasets "
        "keras.layers.Random* keras.layers.Rand* keras.layers.*Spectrogram "
        "keras.layers.Auto* keras.layers.Aug* keras.layers.Mix* keras.layers.Cut* keras.layers.CenterCrop "
        "keras.layers.Equalization keras.layers.ContrastLimited* keras.layers.Solarization keras.layers.Resizing "
        "keras.layers.Pipeline keras.layers.MaxNumBoundingBoxes",
        "there is no preprocessing of images and sound",
        "NumPy or Pillow before jt.data, jt.nn.conv2d and jt.signal",
    ),
    LeftOut("feature_column", "there are no feature columns", "jt.one_hot and jt.nn.embedding_lookup"),
    LeftOut(
        "linalg.LinearOperator* linalg.experimental", "matrices are tensors", "jt.linalg.matmul and jt.linalg.solve"
    ),
    LeftOut(
        "approx_top_k math.approx_max_k math.approx_min_k nn.approx_max_k nn.approx_min_k",
        "there are no approximate searches",
        "jt.math.top_k",
    ),
    LeftOut(
        "math.sobol_sample random_index_shuffle random.create_rng_state random.Algorithm random.experimental",
        "the generator is Philox",
        "jt.random.stateless_uniform, jt.random.truncated_normal and jt.random.Generator",
    ),
    LeftOut(
        "random.*candidate_sampler nn.*candidate_sampler nn.nce_loss nn.sampled_softmax_loss "
        "nn.compute_accidental_hits",
        "losses are not sampled",
        "jt.nn.sparse_softmax_cross_entropy_with_logits",
    ),
    LeftOut(
        "nn.ctc_* nn.collapse_repeated keras.losses.CTC keras.losses.ctc",
        "there is no connectionist temporal classification",
        "jt.scan for a recursion of your own",
    ),
    LeftOut(
        "nn.atrous_conv2d* nn.with_space_to_batch conv conv2d_backprop_* nn.depthwise_conv2d_backprop_* "
        "required_space_to_batch_paddings",
        "one function has all options",
        "jt.nn.convolution, jt.nn.conv_transpose and a tape",
    ),
    LeftOut(
        "nn.dilation2d nn.erosion2d nn.fractional_* nn.max_pool_with_argmax nn.lrn nn.local_response_normalization",
        "these kinds of pooling are missing",
        "jt.nn.max_pool and jt.nn.pool",
    ),
    LeftOut(
        "nn.weighted_moments nn.normalize_moments nn.sufficient_statistics nn.batch_norm_with_global_normalization",
        "moments have one function",
        "jt.nn.moments and jt.nn.batch_normalization",
    ),
    LeftOut("nn.RNNCell* nn.experimental", "cells are layers", "jt.keras.layers.RNN and jt.keras.layers.LSTMCell"),
    LeftOut(
        "signal.*mdct signal.kaiser* signal.vorbis_window signal.linear_to_mel* signal.mfccs*",
        "these windows and spectrograms are missing",
        "jt.signal.stft and jt.signal.hann_window",
    ),
    LeftOut(
        "experimental",
        "its parts have lasting names",
        "jt.numpy for tf.experimental.numpy; NumPy's functions work on tensors too",
    ),
    LeftOut(
        "keras.layers.InputSpec keras.InputSpec "
        "keras.layers.Wrapper",
        "these parts of functional models are missing",
        "jt.keras.layers.Input, jt.keras.layers.Lambda and jt.keras.layers.Layer",
    ),
    LeftOut(
        "keras.layers.*", "this layer is missing", "jt.keras.layers.Layer with a method call of your own"
    ),
    LeftOut("keras.losses.*", "this loss is missing", "a function of y_true and y_pred"),
    LeftOut("keras.activations.*", "this activation is missing", "jt.nn and jt.math"),
    LeftOut("keras.initializers.*", "this initializer is missing", "a function of shape and dtype"),
    LeftOut("keras.callbacks.*", "this callback is missing", "jt.keras.callbacks.Callback"),
    LeftOut(
        "keras.models.*", "models are not stored as one file",
        "model.to_json() and model.save_weights, or jt.train.Checkpoint",
    ),
    LeftOut(
        "keras.optimizers.LossScaleOptimizer", "every optimizer scales the loss",
        "loss_scale_factor=... and the method scale_loss of an optimizer",
    ),
    LeftOut("keras.optimizers.legacy", "optimizers have one form", "the same name in jt.keras.optimizers"),
    LeftOut("keras.optimizers.*", "this optimizer is missing", "jt.keras.optimizers.Optimizer"),
    LeftOut(
        "keras.utils.plot_model keras.utils.model_to_dot", "pictures of models are not drawn",
        "model.summary(), or jt.plot for pictures of programs",
    ),
    LeftOut("keras.utils.Sequence keras.utils.PyDataset", "data have one form", "jt.data.Dataset.from_generator"),
    LeftOut("keras.utils.*", "this tool is missing", "NumPy"),
    LeftOut(
        "keras.mixed_precision keras.dtype_policies",
        "layers compute in the dtype of their weights",
        "dtype='float16' of layers, and loss_scale_factor of jt.keras.optimizers.Optimizer",
    ),
    LeftOut(
        "keras.*",
        "jt.keras has only what custom training loops use",
        "jt.keras.layers, jt.keras.Model and the functions of jt",
    ),
    LeftOut(
        "test.*", "the tests of a program are its own", "pytest, np.testing and jt.check_gradient"
    ),
    LeftOut("security tools config.* debugging.experimental", "this part is missing", "jt.config"),
)  # fmt: skip

_OF_SCIPY = LeftOut("scipy.*", "it is not recorded", "SciPy's own with x.numpy(), which leaves the tape")

_FOREIGN = {
    "no_grad": "tape.stop_recording() or jt.stop_gradient",
    "jit compile": "jt.function",
    "tensor array asarray from_numpy as_tensor": "jt.constant",
    "Parameter parameter nn.Parameter": "jt.Variable",
    "jacfwd jacrev": "jt.jacobian",
    "checkpoint remat": "jt.recompute_grad",
    "manual_seed random.seed random.manual_seed": "jt.random.set_seed",
    "optim": "jt.optimizers",
    "lax": "jt.cond, jt.while_loop, jt.scan and jt.fori_loop",
    "rand random.rand": "jt.random.uniform",
    "randn random.randn": "jt.random.normal",
    "nn.functional": "jt.nn",
    "nn.linear nn.Linear": "jt.keras.layers.Dense",
    "linalg.inverse": "jt.linalg.inv",
    "cat": "jt.concat",
    "Session InteractiveSession placeholder": "jt.function, or plain Python: operations need no session",
    "global_variables_initializer local_variables_initializer": "jt.Variable, which has its value from the start",
    "get_variable variable_scope": "jt.Variable and jt.name_scope",
    "contrib layers": "jt.keras.layers and jt.nn",
    "mul sub div neg": "jt.multiply, jt.subtract, jt.divide and jt.negative",
    "mean reduce_avg": "jt.reduce_mean",
    "keras.backend.set_floatx keras.config.set_floatx": "jt.config.default_float = 'float64'",
    "keras.backend.set_value": "the method assign of a jt.Variable",
    "keras.backend.get_value": "the method numpy of a tensor",
}
"""Names of PyTorch, JAX and TensorFlow 1 below ``jittape``, and what to use instead."""

_MODULES = (
    "nn", "math", "linalg", "random", "signal", "bitwise", "optimizers", "debugging", "nest", "train", "data", "test",
    "autodiff", "plot", "keras", "keras.layers", "keras.losses", "keras.metrics", "keras.initializers",
    "keras.constraints", "keras.callbacks", "keras.saving",
)  # fmt: skip
"""Public modules in which a missing name is searched."""


def left_out(path: str) -> LeftOut | None:
    """Return the entry of `LEFT_OUT` for a name below ``jittape``; None if there is none."""
    for entry in LEFT_OUT:
        if any(fnmatchcase(path, pattern) for pattern in entry.names.split()):
            return entry
    return None


def explanation(package: str, name: str) -> str:
    """Return the text of the `AttributeError` for a missing public name of a module."""
    inner = package.partition(".")[2]
    start = f"{package} has no {name!r}"
    if name.startswith("_"):
        return start
    places = [place for place in ("", *_MODULES) if place != inner and _has(place, name)]
    if places:
        return f"{start}; use {_named(places[0], name)}"
    path = f"{inner}.{name}".lstrip(".")
    keys = {path, path.removeprefix("keras.backend.")}
    foreign = next((instead for names, instead in _FOREIGN.items() if keys & set(names.split())), None)
    if foreign is not None:
        return f"{start}; use {foreign}"
    entry = left_out(path) or left_out(f"keras.{path}")  # jt.keras.optimizers is jt.optimizers
    if entry is not None and entry.names == "keras.*" and not path.startswith("keras."):
        entry = _OF_SCIPY if path.startswith("scipy.") else None
    likeness = 0.7 if entry is None else 0.87  # ConvLSTM2D is no misspelled Conv2D
    near = difflib.get_close_matches(name, dir(_module(inner)), 1, likeness)
    if near and (entry is None or path not in entry.names.split()):
        return f"{start}; did you mean {_named(inner, near[0])}?"
    return start if entry is None else f"{start}: {entry.reason}{entry.instead and f'; use {entry.instead}'}"


def _module(place: str) -> Any:
    """Return the public module, or `jt.config`, of this path below ``jittape``."""
    return reduce(getattr, filter(None, place.split(".")), sys.modules["jittape"])


def _has(place: str, name: str) -> bool:
    return name in _module(place).__all__


def _named(place: str, name: str) -> str:
    return f"jt.{place}.{name}".replace("..", ".")
