"""Functions of ``keras.ops`` whose counterparts have other names, or other names of arguments."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ROWS", "Row"]


class Row(NamedTuple):
    """One function of ``keras.ops`` and its counterpart.

    Attributes
    ----------
    operands : tuple of str
        Keras's names of the arguments that the counterpart takes by position.
    keywords : dict of str to str
        Of the other arguments: the names of the counterpart by those of Keras.
    home, name : str
        Module below `jittape` and name of the counterpart.
    rule : str
        How operands are converted; see `prepared_operands`.
    result : str
        Dtype that integers among the results get; empty if they keep theirs.
    """

    operands: tuple[str, ...]
    keywords: dict[str, str]
    home: str
    name: str
    rule: str
    result: str


# Names in Keras : operands | other arguments, with "=" and the counterpart's name if it differs -> the counterpart, in
# which "*" is the name in Keras; rule; dtype of integer results
_TEXT = """
abs absolute ceil conj conjugate copy diagflat fliplr flipud floor imag isreal negative real round sign square trunc
    : x -> numpy.* tensors
cos cosh exp exp2 expm1 log log10 log1p log2 sin sinh sqrt tan tanh arccos arccosh arcsin arcsinh arctan arctanh
    : x -> numpy.* floats
cbrt deg2rad fabs rad2deg reciprocal sinc i0 angle : x -> numpy.* floats
isfinite isinf isnan isneginf isposinf signbit : x -> numpy.* tensors
erf erfinv rsqrt : x -> math.* floats
erfc : x -> math.* floats
add subtract multiply maximum minimum power mod fmax fmin hypot heaviside logaddexp logaddexp2 nextafter
    : x1 x2 -> numpy.* pair
floor_divide fmod gcd lcm : x1 x2 -> numpy.* pair
ldexp : x1 x2 -> numpy.* tensors
divide true_divide arctan2 : x1 x2 -> numpy.* quotient
divide_no_nan : x1 x2 -> math.* quotient
equal not_equal greater greater_equal less less_equal logical_and logical_or logical_xor : x1 x2 -> numpy.* pair
isclose : x1 x2 | rtol atol equal_nan -> numpy.* pair
isin : x1 x2 | assume_unique invert -> numpy.* pair
logical_not : x -> numpy.* tensors
bitwise_and bitwise_or bitwise_xor : x y -> numpy.* tensors
bitwise_left_shift left_shift : x y -> numpy.left_shift tensors
bitwise_right_shift right_shift : x y -> numpy.right_shift tensors
bitwise_not bitwise_invert : x -> numpy.invert tensors
matmul dot inner outer vdot kron : x1 x2 -> numpy.* pair
tensordot : x1 x2 | axes -> numpy.* pair
cross : x1 x2 | axisa axisb axisc axis -> numpy.* pair
correlate : x1 x2 | mode -> numpy.* pair
sum prod : x | axis keepdims -> reduce_* sums
max amax : x | axis keepdims -> reduce_max tensors
min amin : x | axis keepdims -> reduce_min tensors
any all : x | axis keepdims -> numpy.* tensors
mean : x | axis keepdims -> reduce_mean floats
std : x | axis keepdims -> math.reduce_std floats
var : x | axis keepdims -> math.reduce_variance floats
logsumexp : x | axis keepdims -> reduce_logsumexp floats
median nanmean nanmedian nanstd nanvar : x | axis keepdims -> numpy.* floats
nansum nanprod nanmax nanmin ptp : x | axis keepdims -> numpy.* tensors
quantile percentile nanquantile nanpercentile : x q | axis method keepdims -> numpy.* floats
average : x | axis weights -> numpy.* floats
argmax argmin nanargmax nanargmin : x | axis keepdims -> numpy.* tensors int32
argsort : x | axis -> argsort tensors int32
argpartition : x kth | axis -> numpy.* tensors int32
count_nonzero : x | axis -> numpy.* tensors int32
sort : x | axis -> numpy.* tensors
nancumsum nancumprod : x | axis dtype -> numpy.* tensors
diff : a | n axis -> numpy.* tensors
trapezoid : y | x dx axis -> numpy.* floats
clip : x x_min x_max -> numpy.* tensors
nan_to_num : x | nan posinf neginf -> numpy.* tensors
digitize : x bins -> numpy.* tensors int32
searchsorted : sorted_sequence values | side -> numpy.* tensors int32
bincount : x | weights minlength -> numpy.* tensors int32
select : condlist choicelist | default -> numpy.* tensors
where : condition x1 x2 -> where tensors
nonzero : x -> numpy.* tensors int32
unravel_index : indices shape -> numpy.* tensors int32
ndim : x -> numpy.* tensors
take : x indices | axis -> numpy.* tensors
take_along_axis : x indices | axis -> numpy.* tensors
concatenate : xs | axis -> numpy.* tensors
stack : x | axis -> numpy.* tensors
hstack vstack dstack : xs -> numpy.* tensors
append : x1 x2 | axis -> numpy.* pair
unstack : x | num axis -> unstack tensors
split array_split : x indices_or_sections | axis -> numpy.* tensors
hsplit vsplit dsplit : x indices_or_sections -> numpy.* tensors
reshape : x newshape -> reshape tensors
transpose : x | axes -> numpy.* tensors
expand_dims : x axis -> numpy.* tensors
squeeze : x | axis -> numpy.* tensors
ravel : x -> numpy.* tensors
broadcast_to : x shape -> numpy.* tensors
moveaxis : x source destination -> numpy.* tensors
swapaxes : x axis1 axis2 -> numpy.* tensors
flip : x | axis -> numpy.* tensors
roll : x shift | axis -> numpy.* tensors
rot90 : array | k axes -> numpy.* tensors
repeat : x repeats | axis -> numpy.* tensors
tile : x repeats -> numpy.* tensors
diag : x | k -> numpy.* tensors
diagonal trace : x | offset axis1 axis2 -> numpy.* tensors
tril triu : x | k -> numpy.* tensors
meshgrid : *x | indexing -> numpy.* tensors
zeros_like ones_like empty_like : x | dtype -> numpy.* tensors
full_like : x fill_value | dtype -> numpy.* tensors
cast saturate_cast : x dtype -> * tensors
stop_gradient : variable -> stop_gradient tensors
top_k : x k | sorted -> math.* tensors
in_top_k : targets predictions k -> math.* tensors
slice : inputs start_indices shape -> slice tensors
scatter : indices values shape -> scatter_nd tensors
relu relu6 selu silu softplus softsign swish tanh sigmoid : x -> nn.* floats
log_sigmoid : x -> math.* floats
softmax log_softmax : x | axis -> nn.* floats
leaky_relu : x | negative_slope=alpha -> nn.* floats
elu : x | alpha -> keras.activations.* floats
hard_sigmoid : x -> keras.activations.* floats
moments : x axes | keepdims -> nn.* floats
sparse_categorical_crossentropy : target output | from_logits axis -> keras.losses.* raw
categorical_crossentropy : target output | from_logits axis -> keras.losses.* floats
extract_sequences : x sequence_length sequence_stride -> signal.frame tensors
cholesky : x | upper -> numpy.linalg.* floats
det inv slogdet : x -> numpy.linalg.* floats
logdet : x -> linalg.logdet floats
eigh : x -> numpy.linalg.* floats
pinv : x | rcond -> numpy.linalg.* floats
norm : x | ord axis keepdims -> numpy.linalg.* floats
qr : x | mode -> numpy.linalg.* floats
svd : x | full_matrices compute_uv -> numpy.linalg.* floats
matrix_rank : x | tol -> numpy.linalg.* floats int32
solve : a b -> numpy.linalg.* quotient
cond : pred true_fn false_fn -> cond raw
while_loop : cond body loop_vars | maximum_iterations -> while_loop raw
fori_loop : lower upper body_fun init_val -> fori_loop raw
map : f xs -> map_fn raw
vectorized_map : function elements -> vectorized_map raw
is_tensor : x -> is_tensor raw
custom_gradient : f -> custom_gradient raw
"""


def _rows() -> dict[str, Row]:
    found = {}
    lines = _TEXT.replace("\n    ", " ").strip().splitlines()
    for line in lines:
        names, _, rest = line.partition(" : ")
        arguments, _, counterpart = rest.partition(" -> ")
        operands, _, keywords = arguments.partition(" | ")
        path, rule, *result = counterpart.split()
        pairs = [word.partition("=") for word in keywords.split()]
        for name in names.split():
            home, _, target = path.replace("*", name).rpartition(".")
            found[name] = Row(
                tuple(operands.split()),
                {ours: theirs or ours for ours, _, theirs in pairs},
                f"jittape.{home}".rstrip("."),
                target,
                rule,
                *result or [""],
            )
    return found


ROWS = _rows()
"""The functions by their names in Keras."""
