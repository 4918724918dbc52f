"""Machine code that one process sends to another, which has a disk of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jittape.compile.cache import object_store
from jittape.compile.cache.batch_file import Batch
from jittape.compile.cache.sent_batches import (
    keep_batches,
    lacking_batches,
    list_batches,
    listed_batches,
    read_batches,
    used_batches,
)

BATCHES = [
    Batch(("k0123456789abcdef", "kfedcba9876543210"), b"code" * 100),
    Batch(("k00000000000000aa",), b"more"),
]


@pytest.fixture
def on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that gives this process the disk of a process with that name."""
    return lambda name: monkeypatch.setenv("JITTAPE_CACHE_DIR", str(tmp_path / name))


def test_a_process_gets_what_it_lacks(on_disk: Callable[[str], None]) -> None:
    on_disk("first")
    keep_batches(BATCHES)
    used = used_batches()
    assert used is not None
    environment, names = used
    assert len(names) == 2
    assert lacking_batches(environment, names) == []
    on_disk("second")
    keep_batches(BATCHES[:1])
    assert lacking_batches(environment, names) == names[1:]
    on_disk("first")
    sent = read_batches(names[1:])
    on_disk("second")
    keep_batches(sent)
    assert lacking_batches(environment, names) == []
    cache = object_store.current()
    assert cache is not None
    assert [cache.find(name) for name in ("kfedcba9876543210", "k00000000000000aa")] == BATCHES


def test_another_environment_lacks_nothing_that_it_could_use(on_disk: Callable[[str], None]) -> None:
    on_disk("first")
    keep_batches(BATCHES)
    used = used_batches()
    assert used is not None
    on_disk("second")
    assert lacking_batches({**used[0], "processor": "another"}, used[1]) == []


def test_damaged_and_deleted_batches_are_left_out(on_disk: Callable[[str], None]) -> None:
    on_disk("first")
    keep_batches(BATCHES)
    cache, used = object_store.current(), used_batches()
    assert cache is not None
    assert used is not None
    damaged, deleted = [cache.folder / name for name in used[1]]
    damaged.write_bytes(damaged.read_bytes()[:-1])
    deleted.unlink()
    assert read_batches([*used[1], "batch-unknown"]) == []


def test_a_list_of_batches_is_known_by_the_bytes_of_its_object(on_disk: Callable[[str], None]) -> None:
    on_disk("first")
    assert listed_batches(b"loss") == []
    list_batches(b"loss", ["batch-1"])
    list_batches(b"loss", ["batch-1", "batch-2"])
    assert listed_batches(b"loss") == ["batch-1", "batch-2"]
    assert listed_batches(b"another loss") == []


def test_without_a_cache_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITTAPE_CACHE_DIR", "")
    assert used_batches() is None
    assert read_batches(["batch-1"]) == lacking_batches({}, ["batch-1"]) == listed_batches(b"loss") == []
    keep_batches(BATCHES)
    list_batches(b"loss", [])
