"""``jt.nn``: activations, losses and layers under TensorFlow's names."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.lazy_names import lazily as _lazily
from jittape.primitives.elementwise.hyperbolic import sigmoid as sigmoid
from jittape.primitives.elementwise.hyperbolic import softplus as softplus
from jittape.primitives.elementwise.hyperbolic import tanh as tanh
from jittape.primitives.indexing.isotonic import isotonic_regression as isotonic_regression
from jittape.primitives.indexing.sorting import top_k as top_k
from jittape.primitives.nn.activation import elu as elu
from jittape.primitives.nn.activation import gelu as gelu
from jittape.primitives.nn.activation import l2_normalize as l2_normalize
from jittape.primitives.nn.activation import leaky_relu as leaky_relu
from jittape.primitives.nn.activation import log_softmax as log_softmax
from jittape.primitives.nn.activation import relu as relu
from jittape.primitives.nn.activation import relu6 as relu6
from jittape.primitives.nn.activation import selu as selu
from jittape.primitives.nn.activation import silu as silu
from jittape.primitives.nn.activation import softmax as softmax
from jittape.primitives.nn.activation import softsign as softsign
from jittape.primitives.nn.average_pooling import avg_pool as avg_pool
from jittape.primitives.nn.average_pooling import avg_pool1d as avg_pool1d
from jittape.primitives.nn.average_pooling import avg_pool2d as avg_pool2d
from jittape.primitives.nn.average_pooling import avg_pool3d as avg_pool3d
from jittape.primitives.nn.conv_transpose import conv1d_transpose as conv1d_transpose
from jittape.primitives.nn.conv_transpose import conv2d_transpose as conv2d_transpose
from jittape.primitives.nn.conv_transpose import conv3d_transpose as conv3d_transpose
from jittape.primitives.nn.conv_transpose import conv_transpose as conv_transpose
from jittape.primitives.nn.convolution import conv1d as conv1d
from jittape.primitives.nn.convolution import conv2d as conv2d
from jittape.primitives.nn.convolution import conv3d as conv3d
from jittape.primitives.nn.convolution import convolution as convolution
from jittape.primitives.nn.cross_entropy import l2_loss as l2_loss
from jittape.primitives.nn.cross_entropy import (
    sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits,
)
from jittape.primitives.nn.cross_entropy import (
    softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits,
)
from jittape.primitives.nn.cross_entropy import (
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
)
from jittape.primitives.nn.cross_entropy import (
    weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits,
)
from jittape.primitives.nn.depthwise_convolution import depthwise_conv2d as depthwise_conv2d
from jittape.primitives.nn.depthwise_convolution import separable_conv2d as separable_conv2d
from jittape.primitives.nn.layer_functions import batch_normalization as batch_normalization
from jittape.primitives.nn.layer_functions import bias_add as bias_add
from jittape.primitives.nn.layer_functions import crelu as crelu
from jittape.primitives.nn.layer_functions import embedding_lookup as embedding_lookup
from jittape.primitives.nn.layer_functions import log_poisson_loss as log_poisson_loss
from jittape.primitives.nn.pooling import max_pool as max_pool
from jittape.primitives.nn.pooling import max_pool1d as max_pool1d
from jittape.primitives.nn.pooling import max_pool2d as max_pool2d
from jittape.primitives.nn.pooling import max_pool3d as max_pool3d
from jittape.primitives.nn.pooling import pool as pool
from jittape.primitives.nn.top_classes import in_top_k as in_top_k
from jittape.primitives.reduce.statistics import moments as moments
from jittape.primitives.reduce.statistics import zero_fraction as zero_fraction
from jittape.primitives.shape.blocks import batch_to_space as batch_to_space
from jittape.primitives.shape.blocks import depth_to_space as depth_to_space
from jittape.primitives.shape.blocks import space_to_batch as space_to_batch
from jittape.primitives.shape.blocks import space_to_depth as space_to_depth
from jittape.random.dropout import dropout as dropout

if _TYPE_CHECKING:
    from jittape.keras import layers as layers
    from jittape.keras.layers import Dense as Dense
    from jittape.keras.layers import Sequential as Sequential

__all__ = [
    "Dense", "Sequential", "avg_pool", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_normalization",
    "batch_to_space", "bias_add", "conv1d", "conv1d_transpose", "conv2d", "conv2d_transpose", "conv3d",
    "conv3d_transpose", "conv_transpose", "convolution", "crelu", "depth_to_space", "depthwise_conv2d",
    "dropout", "elu", "embedding_lookup", "gelu", "in_top_k", "isotonic_regression", "l2_loss", "l2_normalize",
    "layers", "leaky_relu", "log_poisson_loss", "log_softmax", "max_pool", "max_pool1d", "max_pool2d",
    "max_pool3d", "moments", "pool", "relu", "relu6", "selu", "separable_conv2d", "sigmoid",
    "sigmoid_cross_entropy_with_logits", "silu", "softmax", "softmax_cross_entropy_with_logits", "softplus",
    "softsign", "space_to_batch", "space_to_depth", "sparse_softmax_cross_entropy_with_logits", "swish", "tanh",
    "top_k", "weighted_cross_entropy_with_logits", "zero_fraction",
]  # fmt: skip

swish = silu

__getattr__ = _lazily(__name__, {"jittape.keras.layers": ("Dense", "Sequential", "layers")})


def __dir__() -> list[str]:
    return __all__
