"""What a TPU VM's metadata server says: of which slice it is which host. Pure, over a `fetch` that knows HTTP."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx

from orchestrator.domain.topology import SliceShape

SERVER: Final = "http://metadata.google.internal"
POOL_ATTRIBUTE: Final = "podwright-pool"
"""Metadata of our own that whoever creates the TPU may set."""
TIMEOUT_S: Final = 5.0

_LABEL: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
"""What Ray takes as a label's value."""

Fetch = Callable[[str], str | None]
"""The value under `/computeMetadata/v1/instance/`, None if there is none."""


class NotATpuVm(Exception):
    """The metadata are not those of a TPU VM that we can use; the message says what is missing or odd."""


@dataclass(frozen=True, slots=True)
class TpuVm:
    """One host of one slice."""

    slice_id: str
    host: int
    shape: SliceShape
    capacity: str
    """`spot` or `on_demand`; reservations do not show."""
    pool: str | None
    """As whoever created the TPU named it."""


def read_tpu_vm(fetch: Fetch) -> TpuVm:
    """The host that this machine is.

    Raises:
        NotATpuVm: it is none, or one of a shape that is not sold.
    """
    described = _tpu_env(fetch("attributes/tpu-env") or "")
    accelerator = fetch("attributes/accelerator-type") or described.get("ACCELERATOR_TYPE")
    if not accelerator:
        raise NotATpuVm("the metadata server names no accelerator-type: this machine is no TPU VM")
    host = fetch("attributes/agent-worker-number") or described.get("WORKER_ID")
    if host is None or not host.isdecimal():
        raise NotATpuVm(f"agent-worker-number is {host!r}, not the number of a host")
    slice_id = _label(fetch("attributes/instance-id") or described.get("NODE_ID"), "instance-id")
    pool = fetch(f"attributes/{POOL_ATTRIBUTE}")
    shape = _shape(accelerator, described.get("TOPOLOGY"))
    if int(host) >= shape.hosts:
        raise NotATpuVm(f"this is host {host} of {slice_id}, but {shape} has {shape.hosts} hosts of four chips each")
    spot = (fetch("scheduling/preemptible") or "").upper() == "TRUE"
    capacity = "spot" if spot else "on_demand"
    return TpuVm(slice_id, int(host), shape, capacity, pool and _label(pool, POOL_ATTRIBUTE))


def fetch_from(server: str = SERVER) -> Fetch:
    """Ask the metadata server at that address.

    The function raises `NotATpuVm` when no metadata server answers there.
    """

    def fetch(key: str) -> str | None:
        try:
            answer = httpx.get(
                f"{server}/computeMetadata/v1/instance/{key}",
                headers={"Metadata-Flavor": "Google"},
                timeout=TIMEOUT_S,
                trust_env=False,
            )
        except httpx.HTTPError as error:
            raise NotATpuVm(f"no metadata server answers at {server}: {error or type(error).__name__}") from None
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        if answer.is_error:
            raise NotATpuVm(f"the metadata server at {server} answers {answer.status_code} for {key}")
        return answer.text.strip() or None

    return fetch


def chips_here(devices: Path = Path("/dev")) -> int:
    """How many TPU chips this machine shows: `accel0…`, or the numbered groups of `vfio`."""
    accel = [found for found in devices.glob("accel[0-9]*") if not found.is_dir()]
    return len(accel) or len(list((devices / "vfio").glob("[0-9]*")))


def _tpu_env(text: str) -> Mapping[str, str]:
    """The lines `NAME: 'value'` of the attribute `tpu-env`."""
    return {name: value for name, value in re.findall(r"^([A-Z_]+):\s*'?([^'\n]*?)'?\s*$", text, re.MULTILINE) if value}


def _shape(accelerator: str, topology: str | None) -> SliceShape:
    """The topology, where it is known, says more than the size: `v4-64` may be 2x4x4 or a ring of another form."""
    try:
        of_size = SliceShape.parse(accelerator)
        return of_size if topology is None else SliceShape.parse(f"{of_size.generation}:{topology}")
    except ValueError as error:
        raise NotATpuVm(f"accelerator-type {accelerator}, topology {topology}: {error}") from None


def _label(value: str | None, name: str) -> str:
    if value is None or not _LABEL.fullmatch(value):
        raise NotATpuVm(f"{name} is {value!r}; a name of at most 63 letters, digits, '-', '_' and '.' is needed")
    return value
