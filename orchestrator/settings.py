"""Settings, read once by `main` from the command line and the environment; parts take only what they need of them."""

import argparse
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from orchestrator.store.commands.retention import Kept


class BadSettings(Exception):
    """The settings do not fit together; the message says what to change."""


@dataclass(frozen=True, slots=True)
class TokenFile:
    """A token that is let in at start."""

    kind: str
    """`admin` or `cluster`."""
    name: str
    """A label, or the cluster's id."""
    path: Path
    made: bool
    """Whether the server makes it if it is not there."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What one control-plane process is told."""

    state_dir: Path
    host: str
    port: int
    """0: the port of the last start if it is free, else any."""
    database_url: str
    checkpoint_root: str
    blobs: Path
    """Folder of logs and other files; replicas share it."""
    server_key_file: Path
    """Attempt tokens and sealed secrets rest on this key; replicas share it. Made if it is not there."""
    kept: Kept
    """For how long events, metrics and logs are kept."""
    private_webhooks: bool
    """Whether webhooks may reach addresses that are not on the internet: loopback, private networks."""
    tokens: tuple[TokenFile, ...]
    lease_ms: int
    """How long a leader's lease row may stand still before another process takes over."""

    @property
    def loopback(self) -> bool:
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_settings(argv: Sequence[str], environ: Mapping[str, str]) -> Settings:
    """Settings from `argv`; `PODWRIGHT_DATABASE_URL` stands in for `--database-url`, which `ps` would show.

    Raises:
        BadSettings: a host that others can reach without `--allow-remote`, or checkpoints where this version has none.
    """
    parser = argparse.ArgumentParser(prog="python -m orchestrator.main", description="The control plane of Podwright.")
    parser.add_argument("--state-dir", required=True, type=Path, help="folder of everything that this server keeps")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", default=0, type=int, help="0 (default): the one of the last start, else any free one")
    parser.add_argument("--database-url", help="default: SQLite in the state folder")
    parser.add_argument("--checkpoint-root", help="folder that all hosts see, or gs://…; default: in the state folder")
    parser.add_argument("--blobs", type=Path, help="folder that replicas share; default: in the state folder")
    parser.add_argument("--server-key-file", type=Path, help="file that replicas share; default: in the state folder")
    for what in ("events", "metrics", "logs", "artifacts"):
        parser.add_argument(f"--keep-{what}-days", type=float, help="default: for ever")
    parser.add_argument("--keep-unnamed-bundles-days", default=7.0, type=float, help="of code that no job names")
    parser.add_argument("--allow-private-webhooks", action="store_true", help="also to addresses of private networks")
    parser.add_argument("--admin-token-file", type=Path, help="holds a global admin's token; on loopback one is made")
    parser.add_argument(
        "--cluster-token-file",
        action="append",
        default=[],
        metavar="CLUSTER=FILE",
        help="holds the token of a cluster; may be given again for another one",
    )
    parser.add_argument("--lease-seconds", default=3.0, type=float)
    parser.add_argument("--allow-remote", action="store_true", help="listen on a host that is not loopback")
    given = parser.parse_args(argv)
    if not is_loopback(given.host) and not given.allow_remote:
        raise BadSettings(f"{given.host} can be reached from other machines; add --allow-remote if that is meant")
    state_dir: Path = given.state_dir.absolute()
    return Settings(
        state_dir=state_dir,
        host=given.host,
        port=given.port,
        database_url=database_url(given.database_url, state_dir, environ),
        checkpoint_root=_checkpoint_root(given.checkpoint_root, state_dir),
        blobs=(given.blobs or state_dir / "blobs").absolute(),
        server_key_file=(given.server_key_file or state_dir / "server.key").absolute(),
        kept=Kept(
            _days_ms(given.keep_events_days),
            _days_ms(given.keep_metrics_days),
            _days_ms(given.keep_logs_days),
            _days_ms(given.keep_artifacts_days),
            int(given.keep_unnamed_bundles_days * 86_400_000),
        ),
        private_webhooks=given.allow_private_webhooks,
        tokens=_token_files(given, state_dir),
        lease_ms=int(given.lease_seconds * 1000),
    )


def _token_files(given: argparse.Namespace, state_dir: Path) -> tuple[TokenFile, ...]:
    """The files that are named; and on loopback those of the machine's own user, which a first start makes."""
    named = []
    if given.admin_token_file is not None:
        named.append(TokenFile("admin", "root", given.admin_token_file.absolute(), made=False))
    for pair in given.cluster_token_file:
        cluster, separator, path = pair.partition("=")
        if not (cluster and separator and path):
            raise BadSettings(f"--cluster-token-file {pair}: write CLUSTER=FILE, e.g. pod=/run/secrets/pod-token")
        named.append(TokenFile("cluster", cluster, Path(path).absolute(), made=False))
    if is_loopback(given.host):
        for kind in ("admin", "cluster"):
            named.append(TokenFile(kind, "local", state_dir / f"{kind}.token", made=True))
    return tuple(named)


def _checkpoint_root(given: str | None, state_dir: Path) -> str:
    """A bucket, or an absolute path: ranks work in folders of their own, where a relative one would name another."""
    if given is None:
        return str(state_dir / "checkpoints")
    scheme, separator, _ = given.partition("://")
    if not separator:
        path = Path(given)
    elif scheme == "gs" and urlsplit(given).netloc:
        return given
    elif scheme.lower() == "file" and urlsplit(given).netloc in ("", "localhost"):
        path = Path(unquote(urlsplit(given).path))
    else:
        raise BadSettings(f"--checkpoint-root {given}: name a folder or gs://BUCKET/FOLDER")
    return str(path.absolute())


def database_url(given: str | None, state_dir: Path, environ: Mapping[str, str]) -> str:
    """The database's address: as given, else as the environment says, else SQLite in the state folder."""
    return given or environ.get("PODWRIGHT_DATABASE_URL") or f"sqlite+aiosqlite:///{state_dir / 'podwright.db'}"


def _days_ms(days: float | None) -> int | None:
    return None if days is None else int(days * 86_400_000)
