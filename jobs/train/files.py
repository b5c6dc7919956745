"""Files to bytes and records, wherever they lie. Raises InvalidProgram where one is not what it should be.

The libraries of formats that not every job has are imported when one is read, and named when they are not there.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from orchestrator.domain.programs.train import Source
from workers.rank.failure import InvalidProgram


@contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """The bytes of a local file, or of an object `gs://…`."""
    try:
        if path.startswith("gs://"):
            from google.cloud import storage  # takes a second

            bucket, _, name = path.removeprefix("gs://").partition("/")
            # No project: it is needed to make buckets, not to read them.
            with storage.Client(project="none").bucket(bucket).blob(name).open("rb") as stream:
                yield stream
        else:
            with Path(path).open("rb") as stream:
                yield stream
    except Exception as error:
        if not isinstance(error, OSError) and not type(error).__module__.startswith("google"):
            raise
        raise InvalidProgram(f"data.paths: {path}: {error}") from error


@contextmanager
def local(path: str) -> Iterator[IO[bytes]]:
    """As `opened`, but always a file of this machine: an object is copied into one without a name."""
    if not path.startswith("gs://"):
        with opened(path) as stream:
            yield stream
        return
    with opened(path) as stream, tempfile.NamedTemporaryFile() as copy:
        shutil.copyfileobj(stream, copy)
        copy.flush()
        yield copy.file


def library(name: str, what: str) -> Any:
    """A module that the extra `data` brings."""
    try:
        return import_module(name)
    except ImportError as error:
        raise InvalidProgram(f"{what} needs {name.split('.')[0]}, which is not installed: podwright[data]") from error


def records(source: Source, paths: Iterable[str], max_bytes: int) -> Iterator[dict[str, str]]:
    """Documents as `text`, or `prompt` and `response`, in the order of the files, up to so many bytes of them."""
    left = max_bytes
    for path in paths:
        for number, record, size in _READERS[source](path):
            left -= size
            if left < 0:
                return
            yield _checked(record, f"{path}, {number}")


def _lines(path: str) -> Iterator[tuple[str, Any, int]]:
    with opened(path) as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                yield f"line {number}", _json(line, f"{path}, line {number}"), len(line)


def _rows(path: str) -> Iterator[tuple[str, Any, int]]:
    parquet = library("pyarrow.parquet", "source=parquet")
    with opened(path) as stream:
        try:
            file, number = parquet.ParquetFile(stream), 0
            wanted = [name for name in ("text", "prompt", "response") if name in file.schema_arrow.names]
            for batch in file.iter_batches(columns=wanted):
                for record in batch.to_pylist():
                    number += 1
                    yield f"row {number}", record, sum(len(str(value)) for value in record.values())
        except library("pyarrow", "source=parquet").ArrowException as error:
            raise InvalidProgram(f"data.paths: {path}: {error}") from error


def _array_records(path: str) -> Iterator[tuple[str, Any, int]]:
    module = library("array_record.python.array_record_module", "source=array_record")
    with local(path) as file:
        try:
            reader = module.ArrayRecordReader(str(file.name))
            for begin in range(0, reader.num_records(), 1000):
                for number, found in enumerate(reader.read(begin, min(begin + 1000, reader.num_records())), begin + 1):
                    yield f"record {number}", _json(found, f"{path}, record {number}"), len(found)
            reader.close()  # says what it has kept to itself until now
        except (RuntimeError, IndexError) as error:
            raise InvalidProgram(f"data.paths: {path}: {error}") from error


_READERS = {Source.JSONL: _lines, Source.PARQUET: _rows, Source.ARRAY_RECORD: _array_records}


def _json(line: bytes, where: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise InvalidProgram(f"data.paths: {where}: {error}") from error


def _checked(record: Any, where: str) -> dict[str, str]:
    keys = set(record) if isinstance(record, dict) else set()
    wanted = {"text"} if "text" in keys else {"prompt", "response"}
    if not wanted <= keys or not all(isinstance(record[key], str) for key in wanted):
        raise InvalidProgram(f"data.paths: {where}: neither `text` nor `prompt` and `response`, as strings")
    return {key: record[key] for key in wanted}
