"""Weight files: ``.npz``, which NumPy reads and writes too, and ``.safetensors``.

A file contains only named arrays: it contains no code, and reading it runs none. `save` writes under a temporary name
and renames; `load` checks everything before it assigns anything. The archive has a checksum for each array of an
``.npz`` file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from jittape.core.dtypes import EXTENSIONS, SUPPORTED, as_dtype, info_of
from jittape.core.program import Aval
from jittape.errors import WeightsError
from jittape.recording.tensor import Tensor, tensor_of
from jittape.recording.variable import Variable

__all__ = ["Entry", "WeightsPath", "load", "opened", "publish", "save", "shortened", "write"]

WeightsPath = str | os.PathLike[str]
Arrays = Mapping[str, np.ndarray[Any, Any]]

_SHOWN = 8
"""Maximum number of mismatched weights that an error lists."""


class Entry(NamedTuple):
    """An array of a file: shape, dtype and a function that reads it."""

    shape: tuple[int, ...]
    dtype: str
    read: Callable[[], np.ndarray[Any, Any]]

    def tensor(self) -> Tensor:
        """Return the value."""
        return tensor_of(np.array(self.read(), order="C"))

    def problems(self, name: str, variable: Variable, owner: str) -> Iterator[str]:
        """Yield the reasons why the array is not a value of `variable`, named `name` in `owner`."""
        if self.shape != tuple(variable.shape):
            yield f"{name!r} has shape {self.shape} in the file, but {tuple(variable.shape)} in {owner}"
        elif self.dtype != variable.dtype.name:
            yield f"{name!r} is {self.dtype} in the file, but {variable.dtype.name} in {owner}"

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


def save(path: WeightsPath, owner: str, weights: Mapping[str, Variable]) -> None:
    """Write the values of Variables to a file.

    Parameters
    ----------
    path : str or path
        Ends in ``.npz`` or ``.safetensors``.
    owner : str
        Name of the owner of the weights, for errors.
    weights : mapping of str to Variable

    Raises
    ------
    WeightsError
        If the extension is another one, there are no weights, or the format does not support a dtype.
    OSError
        If the file cannot be written. A previous file remains.
    """
    _format_of(Path(path))
    if not weights:
        raise WeightsError(
            f"{owner} has no weights to save in {path}: layers make their Variables at the first call, or when they "
            "are given input_dim"
        )
    write(path, weights)


def write(path: WeightsPath, variables: Mapping[str, Variable]) -> None:
    """Write the values of any number of Variables, as `save`."""
    target = Path(path)
    form = _format_of(target)
    arrays = {name: variable._computed().array for name, variable in variables.items()}
    # A symbolic link remains; its target is replaced.
    publish(Path(os.path.realpath(target)), lambda file: form.pack(target, arrays, file))


def load(
    path: WeightsPath,
    owner: str,
    weights: Mapping[str, Variable],
    remedy: str,
    open_file: Callable[[WeightsPath], contextlib.AbstractContextManager[dict[str, Entry]]] | None = None,
) -> None:
    """Load the values that `save` wrote, into all Variables or none.

    Parameters
    ----------
    path, owner, weights
        As for `save`. The names, shapes and dtypes must be those of the file.
    remedy : str
        Remedy for the error if they do not match.
    open_file : callable, optional
        In place of `opened`, for another format.

    Raises
    ------
    WeightsError
        If the file is damaged, has another format, or contains other weights. Nothing is changed in this case.
    OSError
        If the file cannot be read.
    """
    with (opened if open_file is None else open_file)(path) as entries:
        problems = list(_problems(owner, entries, weights))
        if problems:
            raise WeightsError(
                f"{Path(path)} does not fit {owner}, nothing was loaded:\n  {shortened(problems)}\n{remedy}"
            )
        values = {name: entries[name].tensor() for name in weights}
    for name, variable in weights.items():
        variable.assign(values[name])


def opened(path: WeightsPath) -> contextlib.AbstractContextManager[dict[str, Entry]]:
    """Return a context with the arrays of a file by name; the errors are those of `load`."""
    source = Path(path)
    form = _format_of(source)
    if source.is_dir():
        raise IsADirectoryError(errno.EISDIR, "weights are in a file, but this is a folder", str(source))
    return form.opened(source)


def shortened(problems: list[str]) -> str:
    """Return the first lines of an error message and the number of the others."""
    more = [f"... and {len(problems) - _SHOWN} more"] if len(problems) > _SHOWN else []
    return "\n  ".join([*problems[:_SHOWN], *more])


def _problems(owner: str, entries: Mapping[str, Entry], weights: Mapping[str, Variable]) -> Iterator[str]:
    """Return the reasons why a file cannot be loaded, one line per weight."""
    for name, variable in weights.items():
        entry = entries.get(name)
        if entry is None:
            yield f"{name!r} ({variable.aval}) is missing in the file"
        else:
            yield from entry.problems(name, variable, owner)
    for name, entry in entries.items():
        if name not in weights:
            yield f"{name!r} ({entry}) is in the file, but not in {owner}"


# ---- writing ---------------------------------------------------------------------------------------------------------


def publish(target: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Write a file under a temporary name in the same folder and rename it atomically."""
    temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise OSError(error.errno, f"weights cannot be saved: {error.strerror}", str(target)) from error
        raise


# ---- npz -------------------------------------------------------------------------------------------------------------


def _pack_npz(path: Path, arrays: Arrays, file: IO[bytes]) -> None:
    """Write as `numpy.savez`, for any names; equal weights give equal bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, _named_in_npz(array), allow_pickle=False)


def _bits_of(name: str, itemsize: int) -> np.dtype[Any]:
    """Return the dtype of bfloat16 in ``.npz`` files: its bits as a field with its name, as NumPy has no such dtype."""
    return np.dtype([(name, f"<u{itemsize}")])


def _named_in_npz(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    name, size = array.dtype.name, array.itemsize
    if name not in EXTENSIONS:
        return array
    return array.view(f"u{size}").astype(f"<u{size}", copy=False).view(_bits_of(name, size))


_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    ValueError,
    KeyError,
    OSError,
    RuntimeError,
    OverflowError,
)
"""Errors that `zipfile` and NumPy raise for malformed content (RuntimeError: a password is required)."""


@contextlib.contextmanager
def _opened_npz(path: Path) -> Iterator[dict[str, Entry]]:
    with open(path, "rb") as file:
        start = file.read(6)
        file.seek(0)
        with _complaining(path, start):
            archive = zipfile.ZipFile(file)
        with archive:
            entries: dict[str, Entry] = {}
            for info in archive.infolist():
                with _complaining(path, start, info.filename):
                    name = info.filename.removesuffix(".npy")
                    if name == info.filename or name in entries:
                        raise ValueError("it is no array, or there twice")
                    entries[name] = _npz_entry(path, archive, info)
            yield entries


@contextlib.contextmanager
def _complaining(path: Path, start: bytes, member: str = "") -> Iterator[None]:
    """Convert errors to a `WeightsError` that names the file and the part."""
    try:
        yield
    except WeightsError:
        raise
    except _DAMAGED as error:
        if start.startswith(b"PK"):
            what = f"{path} is damaged or incomplete{f', at {member!r}' if member else ''} ({error})"
        elif start.startswith(b"\x93NUMPY"):
            what = f"{path} is a single array as numpy.save writes it, not an .npz file"
        else:
            what = f"{path} is not an .npz file: it {f'begins with {start!r}' if start else 'is empty'}"
        raise WeightsError(
            f"{what}; nothing was loaded. Save the weights anew, or take another copy"
        ) from error


def _npz_entry(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Entry:
    """Return an array of the archive by its header; data and checksum are read only if the header matches."""
    with archive.open(info) as member:
        shape, fortran, dtype = _npy_header(member)
        start = member.tell()
    if dtype.hasobject:
        raise WeightsError(
            f"{path} holds pickled Python objects, at {info.filename!r}: they could run any code and are never loaded. "
            "Save arrays of numbers"
        )

    (field,) = dtype.names if dtype.names is not None and len(dtype.names) == 1 else ("",)
    extension = field if field in EXTENSIONS and dtype == _bits_of(field, dtype.itemsize) else ""

    def read() -> np.ndarray[Any, Any]:
        size = info.file_size - start
        with _complaining(path, b"PK", info.filename), archive.open(info) as member:
            if size != Aval(shape, dtype).nbytes:
                raise ValueError(f"{size} bytes for {Aval(shape, dtype)}")
            content = memoryview(member.read())[start:]  # to the end, where the checksum is verified
            flat = np.frombuffer(content, dtype)
        if extension:
            flat = flat[extension].astype(f"u{dtype.itemsize}").view(as_dtype(extension))
        else:
            flat = flat.astype(dtype.newbyteorder("="), copy=False)
        return flat.reshape(shape, order="F" if fortran else "C")

    return Entry(shape, extension or dtype.newbyteorder("=").name, read)


def _npy_header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return the shape, whether the order is Fortran's, and the dtype."""
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    version = np.lib.format.read_magic(member)
    if version not in readers:
        raise ValueError(f"version {version} of NumPy's format is not for plain numbers")
    try:
        return readers[version](member)
    except Exception as error:  # also errors of Python's tokenizer and parser
        raise ValueError(f"its header cannot be read: {error}") from error


# ---- safetensors -----------------------------------------------------------------------------------------------------

_SAFETENSORS: dict[str | None, str] = {
    **{label: name for name, (_, label) in EXTENSIONS.items()},
    **{info_of(dtype).safetensors: dtype.name for dtype in SUPPORTED},
}


def _safetensors(path: Path) -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise ImportError(
            f"{path} needs the package safetensors, which is not installed: pip install 'jittape[safetensors]', "
            "or use an .npz file"
        ) from None
    return safetensors


def _pack_safetensors(path: Path, arrays: Arrays, file: IO[bytes]) -> None:
    package = _safetensors(path)
    for name, array in arrays.items():
        if info_of(array.dtype).safetensors is None:
            raise WeightsError(
                f"{path}: safetensors has no {array.dtype.name}, the dtype of {name!r}; use an .npz file"
            )
    file.write(package.numpy.save(dict(arrays)))


@contextlib.contextmanager
def _opened_safetensors(path: Path) -> Iterator[dict[str, Entry]]:
    package = _safetensors(path)
    open(path, "rb").close()  # errors of the file system stay as they are

    @contextlib.contextmanager
    def complaining() -> Iterator[None]:
        try:
            yield
        except package.SafetensorError as error:
            raise WeightsError(
                f"{path} is no .safetensors file, or is damaged or incomplete ({error}); nothing was loaded. Save the "
                "weights anew, or take another copy"
            ) from error

    with complaining():
        file = package.safe_open(os.fspath(path), framework="numpy")
    with file:
        entries: dict[str, Entry] = {}
        with complaining():
            for name in file.keys():  # noqa: SIM118 - not a dict
                found = file.get_slice(name)
                dtype = found.get_dtype()
                read = _reader(file, name, complaining)
                entries[name] = Entry(tuple(found.get_shape()), _SAFETENSORS.get(dtype, dtype), read)
        yield entries


def _reader(
    file: Any, name: str, complaining: Callable[[], contextlib.AbstractContextManager[None]]
) -> Callable[[], np.ndarray[Any, Any]]:
    def read() -> np.ndarray[Any, Any]:
        with complaining():
            array: np.ndarray[Any, Any] = file.get_tensor(name)
        return array

    return read


# ---- which format ----------------------------------------------------------------------------------------------------


class _Format(NamedTuple):
    pack: Callable[[Path, Arrays, IO[bytes]], None]
    opened: Callable[[Path], contextlib.AbstractContextManager[dict[str, Entry]]]


_FORMATS = {
    ".npz": _Format(_pack_npz, _opened_npz),
    ".safetensors": _Format(_pack_safetensors, _opened_safetensors),
}


def _format_of(path: Path) -> _Format:
    """Return the format for the extension of a file name."""
    form = _FORMATS.get(path.suffix.lower())
    if form is None:
        raise WeightsError(f"a file of weights ends in {' or '.join(_FORMATS)}, got {str(path)!r}")
    return form
