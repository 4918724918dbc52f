"""Exceptions and warnings of jittape; their docstrings are the documentation.

Where TensorFlow raises a built-in exception, jittape raises the same one; the classes here refine them, so that
``except ValueError`` keeps working and a caller who wants to know more can.
"""

from __future__ import annotations


class ShapeError(ValueError):
    """Operand shapes do not fit the operation.

    The message names the op, the shapes found and the way out. Raised on the line that records the op.
    """


class DTypeError(TypeError):
    """Operand dtypes do not fit the operation."""


class NumericsError(FloatingPointError):
    """A value is not finite where that is checked (`debugging.check_numerics`, `debugging.enable_check_numerics`).

    The message names the op that computed it and the source line that recorded the op.
    """


class NoGradientError(LookupError):
    """An operation on the path of a gradient has no derivative rule (TensorFlow: ``LookupError``).

    The message names the op and the source line that recorded it. Give the operation a gradient with
    `jittape.custom_gradient`, or make its result a constant with `jittape.stop_gradient`.
    """


class ProgramError(AssertionError):
    """A program broke its own rules between two compiler passes. Always a defect of jittape; please report it."""


class CompileError(RuntimeError):
    """Machine code could not be made for a kernel. Always a defect of jittape; please report it."""


class UnconnectedGradientWarning(UserWarning):
    """A gradient is ``None``; the message says why and names the source line.

    Silence it with ``warnings.simplefilter("ignore", jt.UnconnectedGradientWarning)`` or ask for zeros with
    ``unconnected_gradients="zero"``.
    """


class TapeExitWarning(UserWarning):
    """A function turns a tensor that an active tape follows into an array or a number, so its gradient is lost.

    The message names the function and the operation that records, and the warning the user's line. Write ``x.numpy()``
    to leave the tape on purpose. ``jt.config.on_tape_exit = "raise"`` raises it as an exception; ``"ignore"`` turns it
    off.
    """


class TapeUsageWarning(UserWarning):
    """A tape is used in a way that works but hides a surprise; the message names it."""


class CacheWarning(RuntimeWarning):
    """Compiled kernels cannot be kept on disk, or not be read from there; the message says why.

    Everything works without, only the next process compiles again. Said once a process. ``jt.config.cache = False`` or
    an empty ``JITTAPE_CACHE_DIR`` turns the cache off, and the warning with it.
    """


class ControlFlowError(ValueError):
    """The body of a compiled loop or branch does what it cannot, or its arguments do not fit together.

    The message names the operation, what was found and what to write instead.
    """


class FunctionWarning(UserWarning):
    """A `jt.function` works, but not as fast as it could: it is traced often, or cannot be compiled.

    The message says why, where and what to write instead.
    """


class LeakedTensorError(RuntimeError):
    """A tensor of a traced function is used outside of it, where it has no value.

    The message names the function and the line that made the tensor. Return it from the function instead of storing it.
    """


class WeightsError(ValueError):
    """A file of weights cannot be loaded, or weights cannot be put into such a file. Nothing has changed.

    The message names the file, the weights, what was found and what was needed.
    """
