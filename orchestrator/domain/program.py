"""What each rank of a job runs."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from orchestrator.domain.bundles import is_digest
from orchestrator.domain.faults import STRICT, SpecError

MAX_ENV_BYTES: Final = 131_071
"""Linux refuses a longer `NAME=value` string in execve (MAX_ARG_STRLEN less the final zero byte)."""
MAX_COMMAND_PARTS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Program:
    """What each rank runs: a built-in program with its config, or a command, started once per host without a shell."""

    __pydantic_config__ = STRICT

    builtin: Literal["train"] | None = None
    """Its name."""
    config: dict[str, Any] | None = None
    """As written, its preset not yet filled in; checked by the edge that takes it (`api/configs.py`)."""
    command: tuple[str, ...] = ()
    """Its parts, e.g. `[python, train.py]`; no shell reads them."""
    code: str | None = None
    """The digest of the bundle in which the command runs. Clients take a folder here, and upload it."""

    def __post_init__(self) -> None:
        if self.code is not None and not is_digest(self.code):
            said = "is not the digest of a bundle (64 hexadecimal digits); the command line and the SDK take a folder"
            raise SpecError("code", f"{self.code[:80]!r} {said}")
        if self.code is not None and not self.command:
            raise SpecError("code", "only a command runs in code")
        if (self.builtin is None) == (not self.command):
            raise SpecError("", "give either builtin or command, not both and not none")
        if self.config is not None and self.builtin is None:
            raise SpecError("config", "only a builtin program has a config")
        if len(self.command) > MAX_COMMAND_PARTS:
            raise SpecError("command", f"at most {MAX_COMMAND_PARTS} parts, got {len(self.command)}")
        for index, part in enumerate(self.command):
            if "\0" in part or (index == 0 and not part.strip()):
                raise SpecError(f"command[{index}]", "must be text without zero bytes, and the first part a program")
            if len(part.encode()) > MAX_ENV_BYTES:
                raise SpecError(f"command[{index}]", f"at most {MAX_ENV_BYTES} bytes, got {len(part.encode())}")
