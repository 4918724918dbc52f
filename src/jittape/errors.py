"""Exceptions and warnings of jittape.

If TensorFlow raises a built-in exception, jittape raises the same one. The classes here are subclasses of built-in
exceptions, so that ``except ValueError`` works.
"""

from __future__ import annotations

import numpy as np


class ShapeError(ValueError):
    """Operand shapes do not fit the operation.

    The message names the op, the shapes and the fix. Raised on the line that records the op.
    """


class DTypeError(TypeError):
    """Operand dtypes do not fit the operation."""


class LinAlgError(np.linalg.LinAlgError):
    """A matrix is singular or not positive definite, or an iteration does not converge.

    The message names the op and the index of the matrix in the batch. NumPy's exception is a `ValueError`.
    """


class NumericsError(FloatingPointError):
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


class FunctionWarning(UserWarning):
    """A `jt.function` works, but slower than it could: it is often retraced, or cannot be compiled.

    The message gives the reason, the source line and the fix.
    """


class LeakedTensorError(RuntimeError):
    """A tensor of a traced function is used outside of it, where it has no value.

    The message names the function and the line that made the tensor. Return it from the function instead of storing it.
    """


class WeightsError(ValueError):
    """A file of weights cannot be loaded, or weights cannot be stored in such a file. Nothing was changed.

    The message names the file, the weights, and the expected and actual values.
    """
