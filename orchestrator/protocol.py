"""The wire between the control plane and a cluster: orders go down, facts come up. Versioned; imports the domain only.

A cluster process long-polls `GET /api/v1/link/orders?revision=R` for its *whole* live order set and converges to it:
what is absent is stopped. It posts facts to `POST /api/v1/link/facts`; each source numbers its facts from 1 and keeps
them until they are acknowledged. Spools and logs go past the cluster process: supervisors post them with the attempt's
token to `POST /api/v1/ingest/{attempt_id}`, by byte offset, at least once.
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Discriminator, TypeAdapter

from orchestrator.domain.ids import AttemptId, JobId, SliceId
from orchestrator.domain.incident import Overdue, RankExit
from orchestrator.domain.job import RankStarted
from orchestrator.domain.patience import NO_LIMITS, Limits

VERSION: Final = 1


# ---------------------------------------------------------------------------------------------------------- orders down


@dataclass(frozen=True, slots=True)
class ProgramOrder:
    """What each rank runs: a built-in by name with its config as JSON, or a command, once per host."""

    builtin: str | None
    config_json: str | None
    command: tuple[str, ...]
    """Empty for a built-in. Never passed through a shell."""
    code: str | None = None
    """The digest of the bundle that it runs in; `GET /api/v1/ingest/{attempt_id}/code` is the bundle."""


@dataclass(frozen=True, slots=True)
class CheckpointOrder:
    """Where the job's checkpoints live and how often the built-in programs save."""

    root: str
    """This job's folder: a local directory or `gs://…`; holds `LATEST` and one folder per attempt."""
    every_steps: int | None
    committed_step: int | None = None
    """The newest step that is known to be committed: when the folder holds none, the job must not begin at 0."""
    origin: str | None = None
    """`<folder of another job>/<attempt>/<step>`, where a job begins that continues it."""
    save_deadline_ms: int | None = None
    """A save that takes longer has failed."""
    watch: str | None = None
    """A folder in which the program's own Orbax commits; the cluster reports what appears there."""


@dataclass(frozen=True, slots=True)
class StopOrder:
    """End this attempt: SIGTERM, `grace_ms` later SIGKILL. `reason` tells the program and the report why."""

    reason: str
    grace_ms: int


@dataclass(frozen=True, slots=True)
class RunOrder:
    """One live attempt. Supervisors refuse a (leader epoch, attempt number) lower than one seen for the job."""

    epoch: int
    job_id: JobId
    attempt_id: AttemptId
    number: int
    slices: tuple[SliceId, ...]
    program: ProgramOrder
    env_vars: dict[str, str]
    checkpoint: CheckpointOrder
    token: str
    """Good for this attempt's ingest only; derived from the server's key when the order is sent, stored nowhere."""
    stop: StopOrder | None = None
    impossible: str | None = None
    """Why it cannot run as its job says: it is not started, and reported as `invalid_program`."""
    limits: Limits = NO_LIMITS
    """How long each phase may go without progress; the supervisor measures, whether or not we can be reached."""


@dataclass(frozen=True, slots=True)
class ErrandOrder:
    """One thing to do to a job's checkpoint objects, once or more: doing it again changes nothing."""

    id: str
    kind: Literal["verify", "delete", "export", "orphans"]
    root: str
    """The job's folder."""
    path: str
    """`<attempt>/<step>`; for orphans the job's newest attempt, `<attempt>/0`, which is spared."""
    target: str | None = None
    """Of an export: the folder that the step is copied to."""


@dataclass(frozen=True, slots=True)
class Orders:
    """A cluster's whole live order set. `revision` changes whenever the set does."""

    version: int
    revision: int
    epoch: int
    runs: tuple[RunOrder, ...]
    errands: tuple[ErrandOrder, ...] = ()
    checkpoint_root: str = ""
    """Below which all jobs' folders lie: the cluster tries now and then whether it can write there."""


# ------------------------------------------------------------------------------------------------------------- facts up


@dataclass(frozen=True, slots=True)
class HostInfo:
    """One TPU VM of a slice."""

    host: int
    node_id: str
    address: str
    chips: int


@dataclass(frozen=True, slots=True)
class SliceUp:
    """A slice is reserved and all its agents answer: it may be offered. `incarnation` names this reservation."""

    kind: Literal["slice_up"]
    slice_id: SliceId
    incarnation: str
    pool: str
    shape: str
    capacity: str
    hosts: tuple[HostInfo, ...]
    at_ms: int


@dataclass(frozen=True, slots=True)
class SliceDown:
    """A slice is gone, wholly or by one host."""

    kind: Literal["slice_down"]
    slice_id: SliceId
    incarnation: str
    message: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class GangReady:
    """Every rank of the attempt has a process."""

    kind: Literal["gang_ready"]
    attempt_id: AttemptId
    ranks: tuple[RankStarted, ...]
    at_ms: int


@dataclass(frozen=True, slots=True)
class GangEnded:
    """All processes of the attempt are gone, save those on lost hosts. Reported once, kept until acknowledged.

    `trouble` is set when the gang ended for a cause that no rank's exit shows (`slice_lost`, `launch_failed`,
    `port_clash`, `stalled`, `init_timeout`, `preempted`) or, for an ordered end, to the stop order's reason.
    `last_sign_at_ms` is of a lost host. `overdue` belongs to `stalled` and `init_timeout`.
    """

    kind: Literal["gang_ended"]
    attempt_id: AttemptId
    trouble: str | None
    message: str
    exits: tuple[RankExit, ...]
    detected_at_ms: int
    drained_at_ms: int
    last_sign_at_ms: int | None = None
    overdue: Overdue | None = None


FactBody = Annotated[SliceUp | SliceDown | GangReady | GangEnded, Discriminator("kind")]


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing seen. (source, sequence) is unique; a repeat has no effect."""

    source: str
    sequence: int
    body: FactBody


@dataclass(frozen=True, slots=True)
class FactsPost:
    version: int
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class ErrandDone:
    """What became of an errand. `ok` is whether it was done, or the step intact; `message` says what was found."""

    id: str
    ok: bool
    message: str
    finding: Literal["damaged", "newest", "nothing"] | None = None
    """Of a verify: the step is damaged and was set aside. Of a deletion: LATEST names the step, so it stays. Of a
    search for orphans: there is nothing to tell."""


@dataclass(frozen=True, slots=True)
class ErrandsPost:
    version: int
    done: tuple[ErrandDone, ...]


@dataclass(frozen=True, slots=True)
class WatchedCommit:
    """A step that a program of the user's committed, by itself and behind no fence of ours."""

    step: int
    path: str
    """Its whole address."""
    size_bytes: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class WatchedPost:
    """Commits that were seen in an attempt's watched folder."""

    version: int
    attempt_id: AttemptId
    commits: tuple[WatchedCommit, ...]


@dataclass(frozen=True, slots=True)
class StoragePost:
    """What a cluster found when it tried to write below the checkpoints' root; `fault` is None when it could."""

    version: int
    root: str
    fault: str | None


@dataclass(frozen=True, slots=True)
class FactsReply:
    """For each source the highest sequence that is committed to SQL; facts up to it may be forgotten."""

    acknowledged: dict[str, int]


# --------------------------------------------------------------------------------------------------------------- ingest


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes `[offset, offset + len)` of one rank's stream, base64."""

    rank: int
    stream: Literal["spool", "stdout", "stderr"]
    offset: int
    data: str
    final: bool = False
    """The stream's last bytes: nothing follows, a torn last line counts."""


@dataclass(frozen=True, slots=True)
class IngestPost:
    version: int
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Offset:
    rank: int
    stream: Literal["spool", "stdout", "stderr"]
    offset: int
    """The next byte that is wanted."""


@dataclass(frozen=True, slots=True)
class IngestReply:
    """What is stored now, for the streams that were posted. 409 `superseded` instead means: stop the processes."""

    offsets: tuple[Offset, ...]


@dataclass(frozen=True, slots=True)
class ArtifactChunk:
    """Bytes `[offset, offset + len)` of a file of one rank's output folder, base64; size and time say which version."""

    rank: int
    path: str
    size: int
    modified_ns: int
    offset: int
    data: str


@dataclass(frozen=True, slots=True)
class ArtifactSkipped:
    """A file that is not sent, and why: a link, a name that nobody can write down."""

    rank: int
    path: str
    why: str


@dataclass(frozen=True, slots=True)
class ArtifactsPost:
    version: int
    chunks: tuple[ArtifactChunk, ...]
    skipped: tuple[ArtifactSkipped, ...] = ()


@dataclass(frozen=True, slots=True)
class ArtifactOffset:
    rank: int
    path: str
    size: int
    modified_ns: int
    offset: int
    """The next byte that is wanted; the size, if nothing is."""


@dataclass(frozen=True, slots=True)
class ArtifactsReply:
    offsets: tuple[ArtifactOffset, ...]


ARTIFACTS_POST: Final = TypeAdapter(ArtifactsPost)
ARTIFACTS_REPLY: Final = TypeAdapter(ArtifactsReply)
ORDERS: Final = TypeAdapter(Orders)
FACTS_POST: Final = TypeAdapter(FactsPost)
ERRANDS_POST: Final = TypeAdapter(ErrandsPost)
WATCHED_POST: Final = TypeAdapter(WatchedPost)
STORAGE_POST: Final = TypeAdapter(StoragePost)
FACTS_REPLY: Final = TypeAdapter(FactsReply)
INGEST_POST: Final = TypeAdapter(IngestPost)
INGEST_REPLY: Final = TypeAdapter(IngestReply)
