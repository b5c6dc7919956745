"""Where a job's chip time went."""

from fastapi import APIRouter
from pydantic import BaseModel

from orchestrator.accounting.ledger import account
from orchestrator.api.auth import User
from orchestrator.api.deps import WithDeps
from orchestrator.domain.ledger import Bucket, Ledger
from orchestrator.store.queries import histories, jobs

router = APIRouter(prefix="/api/v1/jobs/{job}/ledger", tags=["ledger"])


class LedgerView(BaseModel):
    chip_ms: dict[str, int]
    """By bucket; every bucket is there."""
    allocated_chip_ms: int
    goodput: float | None
    """Productive over allocated; None before anything was allocated."""

    @classmethod
    def of(cls, ledger: Ledger) -> "LedgerView":
        by_bucket = {bucket.value: ledger.chip_ms.get(bucket, 0) for bucket in Bucket}
        return cls(chip_ms=by_bucket, allocated_chip_ms=ledger.allocated, goodput=ledger.goodput)


@router.get("")
async def get_ledger(job: str, who: User, deps: WithDeps) -> LedgerView:
    async with deps.database.read() as tx:
        found = await jobs.find(tx, job, who.projects)
        attempts = await histories.histories(tx, found.id)
    return LedgerView.of(account(attempts, deps.clock.now_ms()))
