"""Masking: known secret values in what programs write, byte for byte; and whatever looks like a token in any text."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

MASK: Final = "********"
SHORTEST: Final = 4
"""A shorter secret occurs by chance everywhere, and guards nothing."""
SHORTEST_LINE: Final = 8
"""Of a secret of several lines each one as long as this is masked by itself."""

_SECRET_WORDS: Final = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "CREDENTIAL")
_TOKENS: Final = re.compile(
    r"pw[acst]_[A-Za-z0-9_-]{8,}"  # our own
    r"|(?<=Bearer )[^\s\"',;]{8,}"
    r"|(?<=://)[^\s/@:]+:[^\s/@]+(?=@)"  # a password in an address
    r"|gh[opsur]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}"
    r"|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"  # a JSON web token
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"
)


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name holds what nobody should see."""
    return any(word in name.upper() for word in _SECRET_WORDS)


def mask_tokens(text: str) -> str:
    """The text without what has the form of a token."""
    return _TOKENS.sub(MASK, text)


class Masker:
    """Masks some secret values in streams of bytes, in place: no byte moves, so that offsets stay what they were."""

    def __init__(self, values: Iterable[str]) -> None:
        needles = {needle for value in values for needle in _needles(value)}
        longest_first = sorted(needles, key=lambda needle: (-len(needle), needle))
        self._needles = tuple(longest_first)
        self._longest = max(map(len, needles), default=0)
        self._any = re.compile(b"|".join(map(re.escape, longest_first))) if needles else None

    def __bool__(self) -> bool:
        return self._any is not None

    def mask(self, data: bytes) -> bytes:
        """As many bytes, each byte of a secret a star."""
        masked = bytearray(data)
        for start, end in self._spans(data):
            masked[start:end] = b"*" * (end - start)
        return bytes(masked)

    def whole(self, data: bytes) -> int:
        """How many of the first bytes can be masked by themselves: what may be a secret whose rest has not come yet
        waits for it, and no secret is cut in two. At most twice the longest secret waits, whatever the secrets are.
        """
        cut = latest = len(data) - self._open_end(data)
        least = len(data) - 2 * self._longest
        spans = list(self._spans(data))
        while cut >= least and (split := [start for start, end in spans if start < cut < end]):
            cut = min(split)
        return cut if cut >= least else latest

    def _spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Where secrets are; they may overlap."""
        at = 0
        while self._any is not None and (found := self._any.search(data, at)) is not None:
            yield found.span()
            at = found.start() + 1

    def _open_end(self, data: bytes) -> int:
        """How many of the last bytes may be the beginning of a secret."""
        for length in range(min(len(data), self._longest - 1), 0, -1):
            tail = data[-length:]
            if any(len(needle) > length and needle.startswith(tail) for needle in self._needles):
                return length
        return 0

    def text(self, text: str) -> str:
        """The same in a text that people read, where what looks like a token is masked too."""
        if self._any is not None:
            text = self.mask(text.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")
        return mask_tokens(text)


def _needles(value: str) -> list[bytes]:
    lines = value.splitlines()
    found = [value, value.strip()] + ([line.strip() for line in lines] if len(lines) > 1 else [])
    least = [SHORTEST, SHORTEST] + [SHORTEST_LINE] * len(lines)
    return [one.encode() for one, shortest in zip(found, least, strict=False) if len(one) >= shortest]
