"""The composition root: settings to clock, store, loop and app, in one asyncio process.

python -m orchestrator.main --state-dir DIR [--host 127.0.0.1] [--port N]
"""

import asyncio
import contextlib
import json
import logging
import os
import secrets
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx
import structlog
import uvicorn

from orchestrator.api.app import create_app
from orchestrator.api.deps import Deps
from orchestrator.chores.guard import PublicOnly
from orchestrator.chores.loop import MESSAGES_MS, OUTLOOKS_MS, SWEEPS_MS, keep_doing
from orchestrator.chores.outlooks import Forecaster
from orchestrator.chores.retention import keep_retention
from orchestrator.chores.sweep import Sweeper
from orchestrator.chores.webhooks import Messenger
from orchestrator.clock import Clock, SystemClock
from orchestrator.domain.errors import Unavailable
from orchestrator.domain.masking import mask_tokens
from orchestrator.keys import let_in, server_key, write_private
from orchestrator.reconciler.decide import decide
from orchestrator.reconciler.loop import Leadership, Loop
from orchestrator.settings import BadSettings, Settings, read_settings
from orchestrator.store.blobs import Blobs
from orchestrator.store.database import Database
from orchestrator.store.migrate import NewerSchema, migrate
from orchestrator.store.sealing import Seal

_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz234567"
_LAST_TICK_S: Final = 5.0
"""Longer than the database may keep a tick waiting; then whoever comes next waits for our lease to lapse."""

log = structlog.get_logger()


def random_id(prefix: str) -> str:
    """80 random bits: ids of different servers do not meet either."""
    return f"{prefix}_{''.join(secrets.choice(_ALPHABET) for _ in range(16))}"


def main() -> int:
    _log_to_stderr()
    try:
        settings = read_settings(sys.argv[1:], os.environ)
        asyncio.run(serve(settings, SystemClock()))
    except (BadSettings, NewerSchema, Unavailable, OSError) as error:
        log.error("the server cannot go on", why=str(error) or repr(error))
        return 1
    return 0


async def serve(settings: Settings, clock: Clock) -> None:
    """Serve until SIGTERM or SIGINT."""
    os.umask(0o077)
    for folder in (settings.state_dir, settings.blobs):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _narrow(folder)
    database = Database(settings.database_url)
    try:
        await migrate(database)
        for token_file in settings.tokens:
            await let_in(database, token_file, clock.now_ms())
        key = server_key(settings.server_key_file)
        deps = Deps(
            database=database,
            blobs=Blobs(settings.blobs),
            clock=clock,
            new_id=random_id,
            server_key=key,
            checkpoint_root=settings.checkpoint_root,
            seal=Seal(key),
        )
        await _serve_and_tick(settings, deps)
    finally:
        await database.close()


async def _serve_and_tick(settings: Settings, deps: Deps) -> None:
    listening = _listen(settings)
    server = _Server(uvicorn.Config(create_app(deps), log_config=None, access_log=False, timeout_graceful_shutdown=1))
    _stop_on_signals(server, deps)
    leading = Leadership(deps.database, deps.clock, random_id("server"), settings.lease_ms)
    ticking = asyncio.create_task(Loop(deps.database, deps.clock, decide, deps.new_id, leading).run(deps.stopping))
    chores = asyncio.create_task(_do_chores(settings, deps, leading))
    ticking.add_done_callback(lambda _: _stop(server, deps))
    sweeping = asyncio.create_task(
        keep_retention(deps.database, deps.clock, deps.new_id, lambda: leading.held is not None, deps.stopping)
    )
    describe = asyncio.create_task(_describe_once_up(server, settings, listening, deps.clock))
    try:
        await server.serve(sockets=[listening])
    finally:
        describe.cancel()
        _stop(server, deps)
        async with asyncio.timeout(_LAST_TICK_S):
            await asyncio.gather(ticking, sweeping)
        chores.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await chores
        with contextlib.suppress(Unavailable):
            await leading.leave()
    log.info("stopped")


async def _do_chores(settings: Settings, deps: Deps, leading: Leadership) -> None:
    """What the leader does besides ticking. May be cancelled anywhere: what is half done is done again."""
    # Redirects are not followed and proxies not asked: a webhook reaches the address that its project gave.
    transport: httpx.AsyncBaseTransport = httpx.AsyncHTTPTransport(trust_env=False)
    if not settings.private_webhooks:
        transport = PublicOnly(transport)
    async with (
        httpx.AsyncClient(transport=transport, follow_redirects=False, trust_env=False) as http,
        asyncio.TaskGroup() as tasks,
    ):
        messenger = Messenger(deps.database, deps.clock, deps.seal, http)
        sweeper = Sweeper(deps.database, deps.blobs, deps.clock, settings.kept)
        forecaster = Forecaster(deps.database, deps.clock)
        for chore, every_ms in (
            (messenger.run_once, MESSAGES_MS),
            (sweeper.run_once, SWEEPS_MS),
            (forecaster.run_once, OUTLOOKS_MS),
        ):
            doing = keep_doing(chore, every_ms, lambda: leading.held is not None, deps.clock, deps.stopping)
            tasks.create_task(doing)


class _Server(uvicorn.Server):
    """Leaves signals to us: uvicorn raises them anew when it is done, and so ends the process before our clean-up."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _stop_on_signals(server: uvicorn.Server, deps: Deps) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _stop, server, deps)


def _stop(server: uvicorn.Server, deps: Deps) -> None:
    """Open polls and streams end by themselves, then the server does."""
    deps.stopping.set()
    deps.database.commits.ring()
    server.should_exit = True


def _listen(settings: Settings) -> socket.socket:
    """The socket on the port that was asked for; without one, on the last start's, so that clients find us again."""
    if settings.port:
        return _bound(settings.host, settings.port)
    former = _former_port(settings.state_dir / "server.json")
    if former:
        with contextlib.suppress(OSError):
            return _bound(settings.host, former)
    return _bound(settings.host, 0)


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise OSError(f"cannot listen on {host}:{port}: {error.strerror}") from error
    return bound


def _former_port(description: Path) -> int | None:
    try:
        return int(json.loads(description.read_text())["url"].rpartition(":")[2])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


async def _describe_once_up(server: uvicorn.Server, settings: Settings, listening: socket.socket, clock: Clock) -> None:
    while not server.started:
        await clock.sleep(10)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    url = f"http://{host}:{listening.getsockname()[1]}"
    described = {"url": url, "pid": os.getpid(), "started_at_ms": clock.now_ms()}
    write_private(settings.state_dir / "server.json", json.dumps(described))
    log.info("listening", url=url)


def _narrow(path: Path) -> None:
    """Take away what others may do there; of what another user owns nothing can be taken, and nothing is."""
    with contextlib.suppress(PermissionError):
        path.chmod(path.stat().st_mode & 0o700)


def _mask_values(_logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return {key: mask_tokens(value) if isinstance(value, str) else value for key, value in event.items()}


class _MaskingFormatter(logging.Formatter):
    """What other libraries log, traces included, without what looks like a token."""

    def format(self, record: logging.LogRecord) -> str:
        return mask_tokens(super().format(record))


def _log_to_stderr() -> None:
    shared: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[
            *shared,
            structlog.processors.format_exc_info,
            _mask_values,
            structlog.processors.KeyValueRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    to_stderr = logging.StreamHandler(sys.stderr)
    to_stderr.setFormatter(_MaskingFormatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[to_stderr])


if __name__ == "__main__":
    sys.exit(main())
