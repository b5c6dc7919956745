"""Where a job's chip time went."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from orchestrator.accounting.ledger import account
from orchestrator.api.auth import User
from orchestrator.api.deps import WithDeps
from orchestrator.domain.ledger import Bucket, Ledger
from orchestrator.store.queries import histories, jobs, reports
from orchestrator.store.queries.reports import Saves

router = APIRouter(prefix="/api/v1/jobs/{job}/ledger", tags=["ledger"])


class SavesView(BaseModel):
    """Saves of checkpoints. What they blocked the loop for is also in the bucket `checkpoint`, times the chips."""

    model_config = ConfigDict(from_attributes=True)

    committed: int
    failed: int
    save_ms: int
    blocked_ms: int


class LedgerView(BaseModel):
    chip_ms: dict[str, int]
    """By bucket; every bucket is there."""
    allocated_chip_ms: int
    goodput: float | None
    """Productive over allocated; None before anything was allocated."""

    saves: SavesView

    @classmethod
    def of(cls, ledger: Ledger, saves: Saves) -> "LedgerView":
        by_bucket = {bucket.value: ledger.chip_ms.get(bucket, 0) for bucket in Bucket}
        return cls(
            chip_ms=by_bucket,
            allocated_chip_ms=ledger.allocated,
            goodput=ledger.goodput,
            saves=SavesView.model_validate(saves),
        )


@router.get("")
async def get_ledger(job: str, who: User, deps: WithDeps) -> LedgerView:
    async with deps.database.read() as tx:
        found = await jobs.find(tx, job, who.projects)
        attempts = await histories.histories(tx, found.id)
        saves = await reports.saves_of(tx, found.id)
    return LedgerView.of(account(attempts, deps.clock.now_ms()), saves)
