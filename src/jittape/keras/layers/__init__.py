"""``jt.keras.layers``, also ``jt.nn.layers``: layers of neural networks, with TensorFlow's names and arguments."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from jittape.lazy_names import lazily as _lazily

if _TYPE_CHECKING:
    from jittape.keras.layers.attention import AdditiveAttention as AdditiveAttention
    from jittape.keras.layers.attention import Attention as Attention
    from jittape.keras.layers.attention import MultiHeadAttention as MultiHeadAttention
    from jittape.keras.layers.convolutions.channelwise_convolutions import DepthwiseConv1D as DepthwiseConv1D
    from jittape.keras.layers.convolutions.channelwise_convolutions import DepthwiseConv2D as DepthwiseConv2D
    from jittape.keras.layers.convolutions.channelwise_convolutions import SeparableConv1D as SeparableConv1D
    from jittape.keras.layers.convolutions.channelwise_convolutions import (
        SeparableConv1D as SeparableConvolution1D,
    )
    from jittape.keras.layers.convolutions.channelwise_convolutions import SeparableConv2D as SeparableConv2D
    from jittape.keras.layers.convolutions.channelwise_convolutions import (
        SeparableConv2D as SeparableConvolution2D,
    )
    from jittape.keras.layers.convolutions.convolutional import Conv1D as Conv1D
    from jittape.keras.layers.convolutions.convolutional import Conv1D as Convolution1D
    from jittape.keras.layers.convolutions.convolutional import Conv2D as Conv2D
    from jittape.keras.layers.convolutions.convolutional import Conv2D as Convolution2D
    from jittape.keras.layers.convolutions.convolutional import Conv3D as Conv3D
    from jittape.keras.layers.convolutions.convolutional import Conv3D as Convolution3D
    from jittape.keras.layers.convolutions.transposed_convolutions import Conv1DTranspose as Conv1DTranspose
    from jittape.keras.layers.convolutions.transposed_convolutions import (
        Conv1DTranspose as Convolution1DTranspose,
    )
    from jittape.keras.layers.convolutions.transposed_convolutions import Conv2DTranspose as Conv2DTranspose
    from jittape.keras.layers.convolutions.transposed_convolutions import (
        Conv2DTranspose as Convolution2DTranspose,
    )
    from jittape.keras.layers.convolutions.transposed_convolutions import Conv3DTranspose as Conv3DTranspose
    from jittape.keras.layers.convolutions.transposed_convolutions import (
        Conv3DTranspose as Convolution3DTranspose,
    )
    from jittape.keras.layers.dense import Dense as Dense
    from jittape.keras.layers.dense import Dot as Dot
    from jittape.keras.layers.dense import EinsumDense as EinsumDense
    from jittape.keras.layers.elementwise_layers import ELU as ELU
    from jittape.keras.layers.elementwise_layers import ActivityRegularization as ActivityRegularization
    from jittape.keras.layers.elementwise_layers import Add as Add
    from jittape.keras.layers.elementwise_layers import Average as Average
    from jittape.keras.layers.elementwise_layers import LeakyReLU as LeakyReLU
    from jittape.keras.layers.elementwise_layers import Maximum as Maximum
    from jittape.keras.layers.elementwise_layers import Minimum as Minimum
    from jittape.keras.layers.elementwise_layers import Multiply as Multiply
    from jittape.keras.layers.elementwise_layers import PReLU as PReLU
    from jittape.keras.layers.elementwise_layers import ReLU as ReLU
    from jittape.keras.layers.elementwise_layers import Softmax as Softmax
    from jittape.keras.layers.elementwise_layers import Subtract as Subtract
    from jittape.keras.layers.embedding import Embedding as Embedding
    from jittape.keras.layers.embedding import Masking as Masking
    from jittape.keras.layers.function_layers import Identity as Identity
    from jittape.keras.layers.function_layers import Lambda as Lambda
    from jittape.keras.layers.function_layers import Normalization as Normalization
    from jittape.keras.layers.function_layers import Rescaling as Rescaling
    from jittape.keras.layers.image_shapes import Cropping1D as Cropping1D
    from jittape.keras.layers.image_shapes import Cropping2D as Cropping2D
    from jittape.keras.layers.image_shapes import Cropping3D as Cropping3D
    from jittape.keras.layers.image_shapes import UpSampling1D as UpSampling1D
    from jittape.keras.layers.image_shapes import UpSampling2D as UpSampling2D
    from jittape.keras.layers.image_shapes import UpSampling3D as UpSampling3D
    from jittape.keras.layers.image_shapes import ZeroPadding1D as ZeroPadding1D
    from jittape.keras.layers.image_shapes import ZeroPadding2D as ZeroPadding2D
    from jittape.keras.layers.image_shapes import ZeroPadding3D as ZeroPadding3D
    from jittape.keras.layers.layer import Layer as Layer
    from jittape.keras.layers.merging_functions import add as add
    from jittape.keras.layers.merging_functions import average as average
    from jittape.keras.layers.merging_functions import concatenate as concatenate
    from jittape.keras.layers.merging_functions import dot as dot
    from jittape.keras.layers.merging_functions import maximum as maximum
    from jittape.keras.layers.merging_functions import minimum as minimum
    from jittape.keras.layers.merging_functions import multiply as multiply
    from jittape.keras.layers.merging_functions import subtract as subtract
    from jittape.keras.layers.noise import AlphaDropout as AlphaDropout
    from jittape.keras.layers.noise import Dropout as Dropout
    from jittape.keras.layers.noise import GaussianDropout as GaussianDropout
    from jittape.keras.layers.noise import GaussianNoise as GaussianNoise
    from jittape.keras.layers.noise import SpatialDropout1D as SpatialDropout1D
    from jittape.keras.layers.noise import SpatialDropout2D as SpatialDropout2D
    from jittape.keras.layers.noise import SpatialDropout3D as SpatialDropout3D
    from jittape.keras.layers.normalization import BatchNormalization as BatchNormalization
    from jittape.keras.layers.normalization import GroupNormalization as GroupNormalization
    from jittape.keras.layers.normalization import LayerNormalization as LayerNormalization
    from jittape.keras.layers.normalization import RMSNormalization as RMSNormalization
    from jittape.keras.layers.normalization import UnitNormalization as UnitNormalization
    from jittape.keras.layers.own_cells import StackedRNNCells as StackedRNNCells
    from jittape.keras.layers.pooling_layers import AveragePooling1D as AveragePooling1D
    from jittape.keras.layers.pooling_layers import AveragePooling1D as AvgPool1D
    from jittape.keras.layers.pooling_layers import AveragePooling2D as AveragePooling2D
    from jittape.keras.layers.pooling_layers import AveragePooling2D as AvgPool2D
    from jittape.keras.layers.pooling_layers import AveragePooling3D as AveragePooling3D
    from jittape.keras.layers.pooling_layers import AveragePooling3D as AvgPool3D
    from jittape.keras.layers.pooling_layers import GlobalAveragePooling1D as GlobalAveragePooling1D
    from jittape.keras.layers.pooling_layers import GlobalAveragePooling1D as GlobalAvgPool1D
    from jittape.keras.layers.pooling_layers import GlobalAveragePooling2D as GlobalAveragePooling2D
    from jittape.keras.layers.pooling_layers import GlobalAveragePooling2D as GlobalAvgPool2D
    from jittape.keras.layers.pooling_layers import GlobalAveragePooling3D as GlobalAveragePooling3D
    from jittape.keras.layers.pooling_layers import GlobalAveragePooling3D as GlobalAvgPool3D
    from jittape.keras.layers.pooling_layers import GlobalMaxPooling1D as GlobalMaxPool1D
    from jittape.keras.layers.pooling_layers import GlobalMaxPooling1D as GlobalMaxPooling1D
    from jittape.keras.layers.pooling_layers import GlobalMaxPooling2D as GlobalMaxPool2D
    from jittape.keras.layers.pooling_layers import GlobalMaxPooling2D as GlobalMaxPooling2D
    from jittape.keras.layers.pooling_layers import GlobalMaxPooling3D as GlobalMaxPool3D
    from jittape.keras.layers.pooling_layers import GlobalMaxPooling3D as GlobalMaxPooling3D
    from jittape.keras.layers.pooling_layers import MaxPooling1D as MaxPool1D
    from jittape.keras.layers.pooling_layers import MaxPooling1D as MaxPooling1D
    from jittape.keras.layers.pooling_layers import MaxPooling2D as MaxPool2D
    from jittape.keras.layers.pooling_layers import MaxPooling2D as MaxPooling2D
    from jittape.keras.layers.pooling_layers import MaxPooling3D as MaxPool3D
    from jittape.keras.layers.pooling_layers import MaxPooling3D as MaxPooling3D
    from jittape.keras.layers.recurrent import GRU as GRU
    from jittape.keras.layers.recurrent import LSTM as LSTM
    from jittape.keras.layers.recurrent import RNN as RNN
    from jittape.keras.layers.recurrent import SimpleRNN as SimpleRNN
    from jittape.keras.layers.recurrent_cells import GRUCell as GRUCell
    from jittape.keras.layers.recurrent_cells import LSTMCell as LSTMCell
    from jittape.keras.layers.recurrent_cells import SimpleRNNCell as SimpleRNNCell
    from jittape.keras.layers.reshaping_layers import Activation as Activation
    from jittape.keras.layers.reshaping_layers import Concatenate as Concatenate
    from jittape.keras.layers.reshaping_layers import Flatten as Flatten
    from jittape.keras.layers.reshaping_layers import Input as Input
    from jittape.keras.layers.reshaping_layers import InputLayer as InputLayer
    from jittape.keras.layers.reshaping_layers import Permute as Permute
    from jittape.keras.layers.reshaping_layers import RepeatVector as RepeatVector
    from jittape.keras.layers.reshaping_layers import Reshape as Reshape
    from jittape.keras.layers.sequential import Sequential as Sequential
    from jittape.keras.layers.wrapper_layers import Bidirectional as Bidirectional
    from jittape.keras.layers.wrapper_layers import SpectralNormalization as SpectralNormalization
    from jittape.keras.layers.wrapper_layers import TimeDistributed as TimeDistributed
    from jittape.keras.saving.object_configs import deserialize_keras_object as deserialize
    from jittape.keras.saving.object_configs import serialize_keras_object as serialize

__all__ = [
    "ELU",
    "GRU",
    "LSTM",
    "RNN",
    "Activation",
    "ActivityRegularization",
    "Add",
    "AdditiveAttention",
    "AlphaDropout",
    "Attention",
    "Average",
    "AveragePooling1D",
    "AveragePooling2D",
    "AveragePooling3D",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "BatchNormalization",
    "Bidirectional",
    "Concatenate",
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "Convolution1D",
    "Convolution1DTranspose",
    "Convolution2D",
    "Convolution2DTranspose",
    "Convolution3D",
    "Convolution3DTranspose",
    "Cropping1D",
    "Cropping2D",
    "Cropping3D",
    "Dense",
    "DepthwiseConv1D",
    "DepthwiseConv2D",
    "Dot",
    "Dropout",
    "EinsumDense",
    "Embedding",
    "Flatten",
    "GRUCell",
    "GaussianDropout",
    "GaussianNoise",
    "GlobalAveragePooling1D",
    "GlobalAveragePooling2D",
    "GlobalAveragePooling3D",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "GlobalMaxPooling1D",
    "GlobalMaxPooling2D",
    "GlobalMaxPooling3D",
    "GroupNormalization",
    "Identity",
    "Input",
    "InputLayer",
    "LSTMCell",
    "Lambda",
    "Layer",
    "LayerNormalization",
    "LeakyReLU",
    "Masking",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "MaxPooling1D",
    "MaxPooling2D",
    "MaxPooling3D",
    "Maximum",
    "Minimum",
    "MultiHeadAttention",
    "Multiply",
    "Normalization",
    "PReLU",
    "Permute",
    "RMSNormalization",
    "ReLU",
    "RepeatVector",
    "Rescaling",
    "Reshape",
    "SeparableConv1D",
    "SeparableConv2D",
    "SeparableConvolution1D",
    "SeparableConvolution2D",
    "Sequential",
    "SimpleRNN",
    "SimpleRNNCell",
    "Softmax",
    "SpatialDropout1D",
    "SpatialDropout2D",
    "SpatialDropout3D",
    "SpectralNormalization",
    "StackedRNNCells",
    "Subtract",
    "TimeDistributed",
    "UnitNormalization",
    "UpSampling1D",
    "UpSampling2D",
    "UpSampling3D",
    "ZeroPadding1D",
    "ZeroPadding2D",
    "ZeroPadding3D",
    "add",
    "average",
    "concatenate",
    "deserialize",
    "dot",
    "maximum",
    "minimum",
    "multiply",
    "serialize",
    "subtract",
]  # fmt: skip

__getattr__ = _lazily(
    __name__,
    {
        "jittape.keras.layers.attention": ("AdditiveAttention", "Attention", "MultiHeadAttention"),
        "jittape.keras.layers.convolutions.channelwise_convolutions": {
            "DepthwiseConv1D": "DepthwiseConv1D", "DepthwiseConv2D": "DepthwiseConv2D",
            "SeparableConv1D": "SeparableConv1D", "SeparableConv2D": "SeparableConv2D",
            "SeparableConvolution1D": "SeparableConv1D", "SeparableConvolution2D": "SeparableConv2D",
        },
        "jittape.keras.layers.convolutions.convolutional": {
            "Conv1D": "Conv1D", "Conv2D": "Conv2D", "Conv3D": "Conv3D", "Convolution1D": "Conv1D",
            "Convolution2D": "Conv2D", "Convolution3D": "Conv3D",
        },
        "jittape.keras.layers.convolutions.transposed_convolutions": {
            "Conv1DTranspose": "Conv1DTranspose", "Conv2DTranspose": "Conv2DTranspose",
            "Conv3DTranspose": "Conv3DTranspose", "Convolution1DTranspose": "Conv1DTranspose",
            "Convolution2DTranspose": "Conv2DTranspose", "Convolution3DTranspose": "Conv3DTranspose",
        },
        "jittape.keras.layers.dense": ("Dense", "Dot", "EinsumDense"),
        "jittape.keras.layers.elementwise_layers": (
            "ActivityRegularization", "Add", "Average", "ELU", "LeakyReLU", "Maximum", "Minimum", "Multiply",
            "PReLU", "ReLU", "Softmax", "Subtract",
        ),
        "jittape.keras.layers.embedding": ("Embedding", "Masking"),
        "jittape.keras.layers.function_layers": ("Identity", "Lambda", "Normalization", "Rescaling"),
        "jittape.keras.layers.image_shapes": (
            "Cropping1D", "Cropping2D", "Cropping3D", "UpSampling1D", "UpSampling2D", "UpSampling3D",
            "ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D",
        ),
        "jittape.keras.layers.layer": ("Layer",),
        "jittape.keras.layers.merging_functions": (
            "add", "average", "concatenate", "dot", "maximum", "minimum", "multiply", "subtract",
        ),
        "jittape.keras.layers.noise": (
            "AlphaDropout", "Dropout", "GaussianDropout", "GaussianNoise", "SpatialDropout1D",
            "SpatialDropout2D", "SpatialDropout3D",
        ),
        "jittape.keras.layers.normalization": (
            "BatchNormalization", "GroupNormalization", "LayerNormalization", "RMSNormalization",
            "UnitNormalization",
        ),
        "jittape.keras.layers.own_cells": ("StackedRNNCells",),
        "jittape.keras.layers.pooling_layers": {
            "AveragePooling1D": "AveragePooling1D", "AveragePooling2D": "AveragePooling2D",
            "AveragePooling3D": "AveragePooling3D", "AvgPool1D": "AveragePooling1D",
            "AvgPool2D": "AveragePooling2D", "AvgPool3D": "AveragePooling3D",
            "GlobalAveragePooling1D": "GlobalAveragePooling1D",
            "GlobalAveragePooling2D": "GlobalAveragePooling2D",
            "GlobalAveragePooling3D": "GlobalAveragePooling3D", "GlobalAvgPool1D": "GlobalAveragePooling1D",
            "GlobalAvgPool2D": "GlobalAveragePooling2D", "GlobalAvgPool3D": "GlobalAveragePooling3D",
            "GlobalMaxPool1D": "GlobalMaxPooling1D", "GlobalMaxPool2D": "GlobalMaxPooling2D",
            "GlobalMaxPool3D": "GlobalMaxPooling3D", "GlobalMaxPooling1D": "GlobalMaxPooling1D",
            "GlobalMaxPooling2D": "GlobalMaxPooling2D", "GlobalMaxPooling3D": "GlobalMaxPooling3D",
            "MaxPool1D": "MaxPooling1D", "MaxPool2D": "MaxPooling2D", "MaxPool3D": "MaxPooling3D",
            "MaxPooling1D": "MaxPooling1D", "MaxPooling2D": "MaxPooling2D", "MaxPooling3D": "MaxPooling3D",
        },
        "jittape.keras.layers.recurrent": ("GRU", "LSTM", "RNN", "SimpleRNN"),
        "jittape.keras.layers.recurrent_cells": ("GRUCell", "LSTMCell", "SimpleRNNCell"),
        "jittape.keras.layers.reshaping_layers": (
            "Activation", "Concatenate", "Flatten", "Input", "InputLayer", "Permute", "RepeatVector",
            "Reshape",
        ),
        "jittape.keras.layers.sequential": ("Sequential",),
        "jittape.keras.layers.wrapper_layers": ("Bidirectional", "SpectralNormalization", "TimeDistributed"),
        "jittape.keras.saving.object_configs": {
            "deserialize": "deserialize_keras_object", "serialize": "serialize_keras_object",
        },
    },
)  # fmt: skip


def __dir__() -> list[str]:
    return __all__
