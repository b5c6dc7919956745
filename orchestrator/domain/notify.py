"""Who is told of a job, as its spec says."""

import re
from dataclasses import dataclass
from typing import Final

from orchestrator.domain.faults import STRICT, SpecError

MAX_NOTIFIED: Final = 10
MAX_KINDS: Final = 20
_URL: Final = re.compile(r"https?://[^\s/@?#]+([/?]\S*)?")
_KIND: Final = re.compile(r"[a-z_.]{1,63}")


@dataclass(frozen=True, slots=True)
class Notify:
    """One address that hears of the job's events."""

    __pydantic_config__ = STRICT

    webhook: str
    kinds: tuple[str, ...] = ("job.state",)
    """Beginnings of kinds of events; `job.state` is every change of state."""
    secret: str | None = None
    """The project's secret whose value signs what is sent: `Podwright-Signature`."""

    def __post_init__(self) -> None:
        if not _URL.fullmatch(self.webhook) or len(self.webhook) > 2000:
            raise SpecError(
                "webhook", "must be an http or https address of at most 2000 characters, without a password"
            )
        if not 1 <= len(self.kinds) <= MAX_KINDS:
            raise SpecError("kinds", f"name 1 to {MAX_KINDS} kinds of events")
        for index, kind in enumerate(self.kinds):
            if not _KIND.fullmatch(kind):
                raise SpecError(f"kinds[{index}]", "the beginning of a kind of events, e.g. job.state or checkpoint.")

    @property
    def shown(self) -> str:
        """The address without its path, which often is what keeps others from using it."""
        scheme, _, rest = self.webhook.partition("://")
        host = re.split(r"[/?]", rest, maxsplit=1)[0]
        return self.webhook if rest == host else f"{scheme}://{host}/********"
