"""The one number that says whether anything has changed."""

from sqlalchemy import select

from orchestrator.store.database import ReadTx
from orchestrator.store.schema import meta


async def revision(tx: ReadTx) -> int:
    """Raised by every write that may change a decision."""
    return int((await tx.ask(select(meta.c.revision))).scalar_one())
