"""A metadata server as GCE's: plain values under one path, only for those who name its flavour."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Final

ROOT: Final = "/computeMetadata/v1/instance/"

V5E_4X4: Final[Mapping[str, str]] = {
    "attributes/accelerator-type": "v5litepod-16",
    "attributes/agent-worker-number": "3",
    "attributes/instance-id": "pod-a",
    "attributes/tpu-env": "ACCELERATOR_TYPE: 'v5litepod-16'\nCHIPS_PER_HOST_BOUNDS: '2,2,1'\nNODE_ID: 'pod-a'\n"
    "TOPOLOGY: '4x4'\nTYPE: 'V5LITE_POD'\nWORKER_ID: '3'\nZONE: 'us-central1-a'\n",
    "scheduling/preemptible": "TRUE",
}
"""Of host 3 of a spot slice."""


@contextmanager
def metadata_server(values: Mapping[str, str]) -> Iterator[str]:
    """Its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            value = values.get(self.path.removeprefix(ROOT))
            if self.headers.get("Metadata-Flavor") != "Google":
                self.send_error(403)
            elif value is None:
                self.send_error(404)
            else:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(value.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
