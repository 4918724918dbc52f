"""``jt.nn``: activations, losses and layers under TensorFlow's names."""

from jittape.nn.dropout import dropout as dropout
from jittape.nn.layers import Dense as Dense
from jittape.nn.layers import Sequential as Sequential
from jittape.primitives.activation import elu as elu
from jittape.primitives.activation import gelu as gelu
from jittape.primitives.activation import l2_normalize as l2_normalize
from jittape.primitives.activation import leaky_relu as leaky_relu
from jittape.primitives.activation import log_softmax as log_softmax
from jittape.primitives.activation import relu as relu
from jittape.primitives.activation import relu6 as relu6
from jittape.primitives.activation import selu as selu
from jittape.primitives.activation import silu as silu
from jittape.primitives.activation import softmax as softmax
from jittape.primitives.activation import softsign as softsign
from jittape.primitives.hyperbolic import sigmoid as sigmoid
from jittape.primitives.hyperbolic import softplus as softplus
from jittape.primitives.hyperbolic import tanh as tanh
from jittape.primitives.losses import l2_loss as l2_loss
from jittape.primitives.losses import sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits
from jittape.primitives.losses import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from jittape.primitives.losses import (
    sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits,
)
from jittape.primitives.losses import weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits
from jittape.primitives.networks import batch_normalization as batch_normalization
from jittape.primitives.networks import bias_add as bias_add
from jittape.primitives.networks import crelu as crelu
from jittape.primitives.networks import embedding_lookup as embedding_lookup
from jittape.primitives.networks import log_poisson_loss as log_poisson_loss
from jittape.primitives.sorting import top_k as top_k
from jittape.primitives.statistics import moments as moments
from jittape.primitives.statistics import zero_fraction as zero_fraction

swish = silu
