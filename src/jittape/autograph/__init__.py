"""TensorFlow's ``tf.autograph``: names for programs that mention it. jittape has no AutoGraph.

A `jt.function` that branches on a tensor works, but is recorded at each call. `jt.cond`, `jt.while_loop` and `jt.where`
compile.
"""

from typing import NoReturn as _NoReturn

from jittape.autograph import experimental as experimental

__all__ = ["experimental", "set_verbosity"]


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Do nothing: there is no AutoGraph that could report its work.

    Parameters
    ----------
    level, alsologtostdout
        Accepted for compatibility with TensorFlow.

    Examples
    --------
    >>> import jittape as jt
    >>> jt.autograph.set_verbosity(3)
    """


def __getattr__(name: str) -> _NoReturn:
    if name in ("to_code", "to_graph", "trace"):
        raise AttributeError(
            f"jt.autograph.{name} is missing: jittape has no AutoGraph and runs Python as it is. "
            "f.get_concrete_function(...).program is the op list of a jt.function"
        )
    raise AttributeError(f"module 'jittape.autograph' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
