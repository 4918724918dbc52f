"""Loaded machine code: from an object file to the addresses of its functions, which takes 0.05 ms per kernel."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING
from weakref import ref

from jittape.compile.llvm.elf_image import ElfImage, load_image
from jittape.compile.llvm.symbols import address_of, provide
from jittape.errors import CompileError

if TYPE_CHECKING:
    import llvmlite.binding as llvm

__all__ = ["CodeGroup", "CodeHandle"]


class CodeHandle:
    """A handle on a group of machine code: the group stays loaded while the handle is referenced."""

    __slots__ = ("__weakref__",)


class CodeGroup:
    """A group of object files, which are loaded one after another and unloaded together.

    Attributes
    ----------
    nbytes : int
        Total size of the files.
    n_objects : int
        Number of the files.
    names : list of str
        Names of the functions; the owner's.
    stamp : int
        Time of the last use; the owner's.
    """

    def __init__(self) -> None:
        self.nbytes = 0
        self.n_objects = 0
        self.names: list[str] = []
        self.stamp = 0
        self._images: list[ElfImage] = []
        self._engine: llvm.ExecutionEngine | None = None
        self._use: Callable[[], CodeHandle | None] = lambda: None

    def use(self) -> CodeHandle:
        """Return the handle that keeps the code loaded."""
        use = self._use()
        if use is None:
            use = CodeHandle()
            self._use = ref(use)
        return use

    @property
    def in_use(self) -> bool:
        """Whether the handle is referenced."""
        return self._use() is not None

    def load(self, code: bytes, names: Iterable[str]) -> list[int]:
        """Load an object file and return the addresses of its functions `names`.

        Raises
        ------
        CompileError
            If a symbol is undefined.
        """
        names = list(names)
        try:
            image = load_image(code, address_of)
        except (struct.error, LookupError, ValueError) as error:
            raise CompileError(f"damaged object file: {error}") from error
        if image is not None:
            self._images.append(image)
            addresses = [image.addresses.get(name, 0) for name in names]
        else:
            from jittape.compile.llvm.compile_pool import uninterrupted

            addresses = uninterrupted(self._load_by_llvm, code, names)
        if not all(addresses):
            raise CompileError("a function is missing in an object file")
        self.nbytes += len(code)
        self.n_objects += 1
        return addresses

    def _load_by_llvm(self, code: bytes, names: Iterable[str]) -> list[int]:
        import llvmlite.binding as llvm

        from jittape.compile.llvm.compile_pool import llvm_lock
        from jittape.compile.llvm.object_file import undefined_symbols
        from jittape.compile.llvm.target import new_linker

        with llvm_lock:
            if self._engine is None:
                # The engine registers the symbols of the process; it takes ownership of its target.
                self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), new_linker())
            try:
                missing = provide(undefined_symbols(code))
            except ValueError as error:
                raise CompileError(str(error)) from error
            if missing:
                raise CompileError(f"undefined symbols in compiled code: {', '.join(missing)}")
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()
            return [self._engine.get_function_address(name) for name in names]

    def unload(self) -> None:
        """Free the code, which must be unreferenced."""
        for image in self._images:
            image.unload()
        if self._engine is not None:
            from jittape.compile.llvm.compile_pool import uninterrupted

            uninterrupted(self._unload_by_llvm)

    def _unload_by_llvm(self) -> None:
        from jittape.compile.llvm.compile_pool import llvm_lock

        with llvm_lock:
            if self._engine is not None:
                self._engine.close()
