"""Files to tokens. Raises InvalidProgram where a file is unreadable or not what the config says."""

from __future__ import annotations

import json
import os
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from workers.rank.failure import InvalidProgram

END = 256
"""The token after a document whose text is bytes."""
Document = tuple[np.ndarray, int]
"""Tokens, and how many of them, at the beginning, are given and not learned."""
_NOT_THE_LIBRARY = {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "__pycache__"}


def read_text(paths: Iterable[str], max_bytes: int) -> np.ndarray:
    """The bytes of text files, joined in this order, up to `max_bytes`, as uint8; without paths Python's library."""
    parts: list[bytes] = []
    left = max_bytes
    for file in [Path(path) for path in paths] or _library():
        if left <= 0:
            break
        try:
            with file.open("rb") as stream:
                parts.append(stream.read(left))
        except OSError as error:
            raise InvalidProgram(f"data.paths: {error}") from error
        left -= len(parts[-1])
    return np.frombuffer(b"".join(parts), np.uint8)


def as_characters(text: np.ndarray, vocabulary: int) -> tuple[np.ndarray, str]:
    """The text as the numbers of its characters in the order of their code points, and these characters."""
    try:
        decoded = text.tobytes().decode()
    except UnicodeDecodeError as error:
        raise InvalidProgram(f"data.paths: not UTF-8 text: {error}") from error
    points, tokens = np.unique(np.frombuffer(decoded.encode("utf-32-le"), np.uint32), return_inverse=True)
    if len(points) > vocabulary:
        raise InvalidProgram(f"model.V={vocabulary} is less than the {len(points)} characters of the text")
    return tokens.astype(np.uint16 if vocabulary <= 1 << 16 else np.uint32), "".join(map(chr, points))


def read_tokens(paths: Iterable[str], vocabulary: int) -> np.ndarray:
    """Files of token numbers, by memory map when there is one file; uint32 where the vocabulary needs it."""
    files = []
    for path in paths:
        try:
            files.append(np.memmap(path, np.dtype("<u2" if vocabulary <= 1 << 16 else "<u4"), mode="r"))
        except (OSError, ValueError) as error:
            raise InvalidProgram(f"data.paths: {path}: {error}") from error
        # The first of it only: the whole may be larger than memory.
        if (largest := int(files[-1][:1_000_000].max())) >= vocabulary:
            raise InvalidProgram(f"data.paths: {path} holds token {largest}, and model.V={vocabulary}")
    return files[0] if len(files) == 1 else np.concatenate(files)


def read_documents(paths: Iterable[str], max_bytes: int) -> list[Document]:
    """The documents of JSONL files, byte by byte, each with END after it."""
    return [_document(record) for record in _records(paths, max_bytes)]


def _records(paths: Iterable[str], max_bytes: int) -> Iterator[dict[str, str]]:
    left = max_bytes
    for path in paths:
        try:
            with Path(path).open("rb") as stream:
                for number, line in enumerate(stream, 1):
                    left -= len(line)
                    if left < 0:
                        return
                    if line.strip():
                        yield _record(line, f"{path}, line {number}")
        except OSError as error:
            raise InvalidProgram(f"data.paths: {error}") from error


def _record(line: bytes, where: str) -> dict[str, str]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise InvalidProgram(f"data.paths: {where}: {error}") from error
    keys = set(record) if isinstance(record, dict) else set()
    wanted = {"text"} if "text" in keys else {"prompt", "response"}
    if not wanted <= keys or not all(isinstance(record[key], str) for key in wanted):
        raise InvalidProgram(f"data.paths: {where}: neither `text` nor `prompt` and `response`, as strings")
    return {key: record[key] for key in wanted}


def _document(record: dict[str, str]) -> Document:
    prompt, learned = record.get("prompt", "").encode(), record.get("text", record.get("response", "")).encode()
    return np.append(np.frombuffer(prompt + learned, np.uint8).astype(np.int32), np.int32(END)), len(prompt)


def _library() -> list[Path]:
    found: list[Path] = []
    # Not rglob: it would walk all of site-packages, which takes a second.
    for folder, folders, names in os.walk(sysconfig.get_path("stdlib")):
        folders[:] = [name for name in folders if name not in _NOT_THE_LIBRARY]
        found += [Path(folder, name) for name in names if name.endswith(".py")]
    return sorted(found)
