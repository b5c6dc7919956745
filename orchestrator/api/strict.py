"""Routes whose bodies are strict JSON, of limited size, and declared as JSON; their models then read them."""

from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict

from orchestrator.api.bodies import MIB, read_json_body
from orchestrator.domain.errors import Fault, InvalidInput
from orchestrator.store import strict_json

MAX_BODY: Final = 2 * MIB


class Asked(BaseModel):
    """A request's body: keys that are not known are refused."""

    model_config = ConfigDict(extra="forbid")


class StrictRoute(APIRoute):
    """Reads the body before FastAPI does, and refuses what is no strict JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle
        required = self.body_field.field_info.is_required()

        async def handle_strictly(request: Request) -> Response:
            if required or request.headers.get("content-length", "0") != "0":
                body = await read_json_body(request, MAX_BODY)
                try:
                    strict_json.parse(body)
                except strict_json.NotStrictJson as error:
                    raise InvalidInput((Fault("", str(error)),)) from None
                request._body = body
            return await handle(request)

        return handle_strictly
