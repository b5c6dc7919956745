"""What handlers work with. Built once, in `main`; tests build their own."""

import asyncio
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from orchestrator.api.logins import Logins
from orchestrator.clock import Clock
from orchestrator.domain.ids import NewId
from orchestrator.store.blobs import Blobs
from orchestrator.store.database import Database
from orchestrator.store.intake import Intake
from orchestrator.store.masks import Masks
from orchestrator.store.sealing import Seal


@dataclass(frozen=True, slots=True)
class Deps:
    database: Database
    blobs: Blobs
    clock: Clock
    new_id: NewId
    server_key: bytes
    """Attempt tokens are derived from it."""
    checkpoint_root: str
    seal: Seal
    masks: Masks = field(init=False)
    """What the programs of attempts may say, and nobody shall read."""
    intake: Intake = field(init=False)
    logins: Logins = field(default_factory=Logins)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, and the bell rung, when the server stops: open long polls and streams then end by themselves."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "masks", Masks(self.seal))  # frozen
        object.__setattr__(self, "intake", Intake(self.database, self.blobs, self.masks))


async def _deps(request: Request) -> Deps:  # async: FastAPI would call it in a thread, several times a request
    found: Deps = request.app.state.deps
    return found


WithDeps = Annotated[Deps, Depends(_deps)]
