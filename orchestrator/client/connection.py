"""One HTTP connection to the server: JSON in, JSON out, problems as exceptions."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import httpx

from orchestrator.client.errors import ApiError, ServerError, UnavailableError, error_of

_TIMEOUT_S: Final = 30.0
_TRIES: Final = 5
_FIRST_PAUSE_S: Final = 0.2


class Connection:
    """Repeats a request that got no answer, or 503: all our requests may be repeated, a submit thanks to its key."""

    def __init__(
        self, url: str, token: str, transport: httpx.BaseTransport | None, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._sleep = sleep
        # The environment's proxies are not asked: the server is a machine of ours, most often this one.
        self._http = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=_TIMEOUT_S,
            transport=transport,
            trust_env=False,
        )

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        given = {name: value for name, value in (params or {}).items() if value is not None}
        return self._ask("GET", path, params=given)

    def post(self, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Any:
        if body is None:
            return self._ask("POST", path, headers=headers)
        return self._ask("POST", path, json=body, headers=headers)

    def put(self, path: str, body: object) -> Any:
        return self._ask("PUT", path, json=body)

    def put_bytes(self, path: str, content: bytes, kind: str) -> Any:
        return self._ask("PUT", path, content=content, headers={"Content-Type": kind})

    def patch(self, path: str, body: object, headers: Mapping[str, str] | None = None) -> Any:
        return self._ask("PATCH", path, json=body, headers=headers)

    def delete(self, path: str) -> Any:
        return self._ask("DELETE", path)

    def pieces(self, path: str, params: Mapping[str, Any] | None = None) -> Iterator[bytes]:
        """The body of an answer that is no JSON, as it comes.

        Raises:
            UnavailableError: the connection broke.
        """
        given = {name: value for name, value in (params or {}).items() if value is not None}
        try:
            with self._http.stream("GET", path, params=given) as response:
                if not response.is_success:
                    response.read()
                    raise _error_of(response)
                yield from response.iter_bytes()
        except httpx.TransportError as error:
            raise UnavailableError(f"the connection to {self._http.base_url} broke: {error}") from error

    def lines(self, path: str, params: Mapping[str, Any], headers: Mapping[str, str]) -> Iterator[str]:
        """The lines of an endless answer, until the server ends it.

        Raises:
            UnavailableError: the connection broke.
        """
        given = {name: value for name, value in params.items() if value is not None}
        try:
            with self._http.stream("GET", path, params=given, headers=headers) as response:
                if not response.is_success:
                    response.read()
                    raise _error_of(response)
                yield from response.iter_lines()
        except httpx.TransportError as error:
            raise UnavailableError(f"the connection to {self._http.base_url} broke: {error}") from error

    def _ask(self, method: str, path: str, **request: Any) -> Any:
        for pause_s in [*(_FIRST_PAUSE_S * 2**n for n in range(_TRIES - 1)), None]:
            try:
                return self._ask_once(method, path, request)
            except UnavailableError:
                if pause_s is None:
                    raise
                self._sleep(pause_s)
        raise AssertionError("the last try returns or raises")

    def _ask_once(self, method: str, path: str, request: Mapping[str, Any]) -> Any:
        try:
            response = self._http.request(method, path, **request)
        except httpx.TransportError as error:
            raise UnavailableError(f"no answer from {self._http.base_url}: {error}") from error
        if not response.is_success:
            raise _error_of(response)
        if response.status_code == httpx.codes.NO_CONTENT:
            return None
        try:
            return response.json()
        except ValueError as error:
            raise ServerError(f"{response.url} did not answer with JSON", response.status_code) from error


def _error_of(response: httpx.Response) -> ApiError:
    try:
        problem = response.json()
    except ValueError:
        problem = {}
    return error_of(response.status_code, problem if isinstance(problem, dict) else {})
