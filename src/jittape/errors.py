"""Exceptions and warnings of jittape.

If TensorFlow raises a built-in exception, jittape raises the same one. The classes here are subclasses of built-in
exceptions, so that ``except ValueError`` works.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

__all__ = [
    "ABORTED", "ALREADY_EXISTS", "CANCELLED", "DATA_LOSS", "DEADLINE_EXCEEDED", "FAILED_PRECONDITION",
    "INTERNAL", "INVALID_ARGUMENT", "NOT_FOUND", "OK", "OUT_OF_RANGE", "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED", "UNAUTHENTICATED", "UNAVAILABLE", "UNIMPLEMENTED", "UNKNOWN", "AbortedError",
    "AlreadyExistsError", "AxisError", "CacheWarning", "CancelledError", "CompileError", "ControlFlowError",
    "DTypeError", "DataLossError", "DeadlineExceededError", "FailedPreconditionError", "FunctionWarning",
    "InternalError", "InvalidArgumentError", "InvalidIndexError", "LeakedTensorError", "LeakedValueError",
    "LinAlgError", "MatrixShapeError", "NoGradientError", "NotFoundError", "NumericsError", "OpError",
    "OperatorNotAllowedInGraphError", "OutOfRangeError", "PermissionDeniedError", "ProgramError",
    "RecompileWarning", "ResourceExhaustedError", "ScalarError", "ShapeError", "TapeExitWarning",
    "TapeUsageWarning", "UnauthenticatedError", "UnavailableError", "UnconnectedGradientWarning",
    "UnimplementedError", "UnknownError", "WeightsError",
]  # fmt: skip


OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS = range(7)
"""TensorFlow's numbers of the kinds of errors, as in `OpError.error_code`; OK is none."""
PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE = range(7, 12)
UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED = range(12, 17)


class OpError(Exception):
    """The base of the errors that have TensorFlow's names, such as `InvalidArgumentError`.

    TensorFlow's constructor is ``OpError(node_def, op, message, error_code)``; one argument alone is the message.
    """

    error_code: int | None = None
    """TensorFlow's number of the kind of error."""
    node_def = None
    """None: jittape has no graphs."""
    op = None
    """None: jittape has no graphs; the message names the operation."""
    experimental_payloads: ClassVar[Mapping[str, bytes]] = MappingProxyType({})
    """Empty; TensorFlow's additional data of an error."""

    def __init__(self, *args: Any) -> None:
        if len(args) > 1:  # as in TensorFlow: node_def, op, message
            self.node_def, self.op, *args = args  # type: ignore[assignment]
        super().__init__(*args[:1])

    @property
    def message(self) -> str:
        """The message."""
        return str(self)


class CancelledError(OpError):
    """An operation was cancelled."""

    error_code = CANCELLED


class UnknownError(OpError):
    """An error of unknown kind."""

    error_code = UNKNOWN


class InvalidArgumentError(OpError, ValueError):
    """An argument of an operation cannot be right: its shape, dtype or value. It is also a `ValueError`.

    Errors that NumPy and Python have other types for are both: `ShapeError`, `DTypeError` (also a `TypeError`) and
    `LinAlgError`.
    """

    error_code = INVALID_ARGUMENT


class InvalidIndexError(InvalidArgumentError, IndexError):
    """An index is not within the extent of its axis, or is no index. It is also an `IndexError`."""


class DeadlineExceededError(OpError):
    """An operation took too long."""

    error_code = DEADLINE_EXCEEDED


class NotFoundError(OpError, FileNotFoundError):
    """A file does not exist, such as a checkpoint."""

    error_code = NOT_FOUND


class AlreadyExistsError(OpError):
    """Something that was to be made exists already."""

    error_code = ALREADY_EXISTS


class PermissionDeniedError(OpError):
    """The permission for an operation is missing."""

    error_code = PERMISSION_DENIED


class ResourceExhaustedError(OpError):
    """Memory or another resource is exhausted."""

    error_code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError):
    """An operation needs a state that does not hold."""

    error_code = FAILED_PRECONDITION


class AbortedError(OpError):
    """An operation was aborted."""

    error_code = ABORTED


class OutOfRangeError(OpError):
    """An iteration went past the end."""

    error_code = OUT_OF_RANGE


class UnimplementedError(OpError):
    """An operation is not implemented for its arguments."""

    error_code = UNIMPLEMENTED


class InternalError(OpError):
    """An invariant of the system is broken."""

    error_code = INTERNAL


class UnavailableError(OpError):
    """A service is not available."""

    error_code = UNAVAILABLE


class DataLossError(OpError):
    """Data is lost or damaged."""

    error_code = DATA_LOSS


class UnauthenticatedError(OpError):
    """A request is not authenticated."""

    error_code = UNAUTHENTICATED


class OperatorNotAllowedInGraphError(TypeError):
    """A Python operator is used on a tensor where its value is unknown."""


class ShapeError(InvalidArgumentError):
    """Operand shapes do not fit the operation.

    The message names the op, the shapes and the fix. Raised on the line that records the op.
    """


class AxisError(ShapeError, np.exceptions.AxisError):
    """An axis is out of range. It is also an `IndexError` and NumPy's `AxisError`."""

    axis: int
    """The axis."""
    ndim: int
    """The number of dimensions."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ScalarError(ShapeError, TypeError):
    """A tensor with several elements, or with none, is converted to one Python number. It is also a `TypeError`."""


class DTypeError(TypeError, InvalidArgumentError):
    """Operand dtypes do not fit the operation."""


class LinAlgError(InvalidArgumentError, np.linalg.LinAlgError):
    """A matrix is singular or not positive definite, or an iteration does not converge.

    The message names the op and the index of the matrix in the batch. NumPy's exception is a `ValueError`.
    """


class MatrixShapeError(ShapeError, np.linalg.LinAlgError):
    """An operand is no matrix, or not square. It is also NumPy's `LinAlgError`, which NumPy raises for it."""


class NumericsError(FloatingPointError, InvalidArgumentError):
    """A value is not finite although a check requires it (`debugging.check_numerics`, `enable_check_numerics`).

    The message names the op that computed it and the source line that recorded the op.
    """


class NoGradientError(LookupError):
    """An operation on the path of a gradient has no derivative rule (TensorFlow: ``LookupError``).

    The message names the op and the source line that recorded it. Give the operation a gradient with
    `jittape.custom_gradient`, or make its result a constant with `jittape.stop_gradient`.
    """


class ProgramError(AssertionError):
    """A program is invalid between two compiler passes. Always a defect of jittape; please report it."""


class CompileError(RuntimeError):
    """LLVM cannot compile a kernel. Always a defect of jittape; please report it."""


class UnconnectedGradientWarning(UserWarning):
    """A gradient is ``None``; the message gives the reason and the source line.

    Silence it with ``warnings.simplefilter("ignore", jt.UnconnectedGradientWarning)`` or request zeros with
    ``unconnected_gradients="zero"``.
    """


class TapeExitWarning(UserWarning):
    """A function converts a tensor that an active tape watches to an array or a number, so its gradient is lost.

    The message names the function and the jittape operation to use instead; the warning points to the user's line.
    Write ``x.numpy()`` to leave the tape on purpose. ``jt.config.on_tape_exit = "raise"`` raises an exception instead;
    ``"ignore"`` turns the warning off.
    """


class TapeUsageWarning(UserWarning):
    """A tape is used in a way that is valid but probably not intended; the message explains it."""


class CacheWarning(RuntimeWarning):
    """Compiled kernels cannot be written to or read from the disk cache; the message gives the reason.

    Results are unaffected, but the next process recompiles. Issued once per process. ``jt.config.cache = False`` or an
    empty ``JITTAPE_CACHE_DIR`` turns off the cache and the warning.
    """


class ControlFlowError(ValueError):
    """The body of a compiled loop or branch does something unsupported, or its arguments do not fit together.

    The message names the operation, the problem and the fix.
    """


class RecompileWarning(UserWarning):
    """A loop without `jt.function` records another program at many steps, such as for another value of a parameter.

    The message says what changed, and the remedy; the warning points to the line. It is given once for each place.
    """


class FunctionWarning(UserWarning):
    """A `jt.function` works, but slower than it could: it is often retraced, or cannot be compiled.

    The message gives the reason, the source line and the fix.
    """


class LeakedTensorError(TypeError, RuntimeError):
    """A tensor of a traced function is used outside of it, where it has no value.

    The message names the function and the line that made the tensor. Return it from the function instead of storing it.
    """


class LeakedValueError(LeakedTensorError, AttributeError):
    """The value of a tensor of a traced function is read outside of it.

    It is also an `AttributeError`: in TensorFlow, such a tensor has no method `numpy`.
    """


class WeightsError(ValueError):
    """A file of weights cannot be loaded, or weights cannot be stored in such a file. Nothing was changed.

    The message names the file, the weights, and the expected and actual values.
    """
