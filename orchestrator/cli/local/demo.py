"""`podwright demo`: the whole system on this machine for one story, with nothing left of it afterwards."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.cli.failures import CommandFailed, Exit
from orchestrator.cli.local.demo_report import Seen, claims, sentences
from orchestrator.cli.local.demo_story import StoryBroke, tell
from orchestrator.cli.local.interrupt import Interrupt, Interrupted
from orchestrator.cli.local.launcher import LAUNCHER, RECORD, Launcher, StartFailed, end_recorded
from orchestrator.cli.local.record import ProcessRecord
from orchestrator.cli.local.siblings import LocalPlan
from orchestrator.cli.remote.connection import Target
from orchestrator.cli.remote.output import console
from orchestrator.cli.remote.screen import Screen
from orchestrator.client import ApiError, Client
from orchestrator.domain.topology import SliceShape

_SHAPE = SliceShape.parse("v5e:2x4")
_SLICES = 2


def run_demo(state_dir: Path, say: Callable[[str], None]) -> int:
    """Play the demo in `state_dir`, which is emptied first. Exit code 0 only if all that it claims was seen.

    Raises:
        CommandFailed: another demo runs here, or something could not be started.
    """
    interrupt = Interrupt()
    interrupt.install()
    _clear(state_dir)
    say(f"starting a control plane and {_SLICES} emulated TPU slices {_SHAPE} (2 hosts of 4 chips each) …")
    try:
        with _everything(state_dir, interrupt, say) as launcher:
            say(f"all healthy; the API is at {launcher.url}")
            target = Target(state_dir)
            with Client(launcher.url, target.bearer) as client, Screen(console()) as screen:
                seen = tell(client, launcher.host_process, interrupt, screen)
            return _report(seen, launcher.url, say)
    except Interrupted:
        say("ended early; nothing is left running")
        return Exit.INTERRUPTED
    except (StartFailed, StoryBroke, ApiError) as failure:
        raise CommandFailed(f"the demo failed: {failure}\nlogs: {state_dir / 'logs'}") from None


@contextmanager
def _everything(state_dir: Path, interrupt: Interrupt, say: Callable[[str], None]) -> Iterator[Launcher]:
    """All three siblings, well; ended however the block is left."""
    launcher = Launcher(LocalPlan(state_dir, _SHAPE, _SLICES, port=None), interrupt, say)
    try:
        launcher.start()
        yield launcher
    finally:
        launcher.stop()


def _clear(state_dir: Path) -> None:
    if ProcessRecord.load(state_dir / RECORD).alive(LAUNCHER):
        raise CommandFailed("a demo already runs here; end it with Ctrl-C in its terminal", Exit.USAGE)
    end_recorded(state_dir)
    shutil.rmtree(state_dir, ignore_errors=True)


def _report(seen: Seen, url: str, say: Callable[[str], None]) -> int:
    broken = [claim for claim in claims(seen) if not claim.holds]
    for claim in broken:
        say(f"NOT SEEN: {claim.text} (seen: {claim.seen})")
    if broken:
        return Exit.FAILED
    say("")
    for sentence in sentences(seen):
        say(sentence)
    say(f"All of this was read from the API at {url}, which ends now; to keep one running: podwright up")
    return Exit.OK
