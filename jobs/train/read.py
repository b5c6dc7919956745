"""Texts and records to tokens. Raises InvalidProgram where a file is not what the config says."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from jobs.train.files import library, local, opened, records
from orchestrator.domain.programs.train import DataConfig, Tokenizer
from workers.rank.failure import InvalidProgram

END = 256
"""The token after a document whose text is bytes."""
Document = tuple[np.ndarray, int]
"""Tokens, and how many of them, at the beginning, are given and not learned."""
_NOT_THE_LIBRARY = {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "__pycache__"}


class Encoder(Protocol):
    """Text to tokens; `end` follows a document."""

    end: int
    vocabulary: int

    def encode(self, text: bytes) -> np.ndarray:
        """The tokens of UTF-8 text."""


class Bytes:
    """Each byte is a token."""

    end, vocabulary = END, END + 1

    def encode(self, text: bytes) -> np.ndarray:
        return np.frombuffer(text, np.uint8)


@dataclass(frozen=True, slots=True)
class HuggingFace:
    """A tokenizer.json, without the special tokens that it would put around a text."""

    tokenizer: Any
    end: int
    vocabulary: int

    @classmethod
    def of(cls, path: Path, end_token: str | None) -> Self:
        tokenizers = library("tokenizers", "tokenizer=hf")
        file = path / "tokenizer.json" if path.is_dir() else path
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(file))
        except Exception as error:  # the library raises nothing narrower
            raise InvalidProgram(f"data.tokenizer_path: {file}: {error}") from error
        end = -1 if end_token is None else tokenizer.token_to_id(end_token)
        if end is None:
            raise InvalidProgram(f"data.end_token: {file} has no token {end_token!r}")
        return cls(tokenizer, end, tokenizer.get_vocab_size())

    def encode(self, text: bytes) -> np.ndarray:
        # A limit of bytes may have cut the last character.
        found = self.tokenizer.encode(text.decode(errors="ignore"), add_special_tokens=False).ids
        return np.array(found, np.uint16 if self.vocabulary <= 1 << 16 else np.uint32)


def encoder_of(data: DataConfig, vocabulary: int) -> Encoder:
    """What makes tokens of text, all of which `vocabulary` has room for."""
    if data.tokenizer is not Tokenizer.HF:
        return Bytes()
    encoder = HuggingFace.of(Path(data.tokenizer_path or ""), data.end_token)
    if encoder.vocabulary > vocabulary:
        raise InvalidProgram(f"model.V={vocabulary} is less than the {encoder.vocabulary} tokens of the tokenizer")
    return encoder


def read_text(paths: Iterable[str], max_bytes: int) -> bytes:
    """The bytes of text files, joined in this order, up to `max_bytes`; without paths Python's library."""
    parts: list[bytes] = []
    left = max_bytes
    for path in paths or _library():
        if left <= 0:
            break
        with opened(path) as stream:
            parts.append(stream.read(left))
        left -= len(parts[-1])
    return b"".join(parts)


def as_characters(text: bytes, vocabulary: int) -> tuple[np.ndarray, str]:
    """The text as the numbers of its characters in the order of their code points, and these characters."""
    try:
        decoded = text.decode()
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
        with local(path) as file:
            try:
                files.append(np.memmap(file, np.dtype("<u2" if vocabulary <= 1 << 16 else "<u4"), mode="r"))
            except ValueError as error:
                raise InvalidProgram(f"data.paths: {path}: {error}") from error
        # The first of it only: the whole may be larger than memory.
        if (largest := int(files[-1][:1_000_000].max())) >= vocabulary:
            raise InvalidProgram(f"data.paths: {path} holds token {largest}, and model.V={vocabulary}")
    return files[0] if len(files) == 1 else np.concatenate(files)


def read_documents(data: DataConfig, paths: Iterable[str], encoder: Encoder) -> list[Document]:
    """The documents of files, each with the token that ends it."""
    return [_document(record, encoder) for record in records(data.source, paths, data.max_bytes)]


def _document(record: dict[str, str], encoder: Encoder) -> Document:
    given = encoder.encode(record.get("prompt", "").encode())
    learned = encoder.encode(record.get("text", record.get("response", "")).encode())
    return np.concatenate([given, learned, [encoder.end]]).astype(np.int32), len(given)


def _library() -> list[str]:
    found: list[str] = []
    # Not rglob: it would walk all of site-packages, which takes a second.
    for folder, folders, names in os.walk(sysconfig.get_path("stdlib")):
        folders[:] = [name for name in folders if name not in _NOT_THE_LIBRARY]
        found += [str(Path(folder, name)) for name in names if name.endswith(".py")]
    return sorted(found, key=Path)
