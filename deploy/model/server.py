"""The routes, and the one path every request takes: key, body, turns, brain, wire."""

from collections.abc import Awaitable, Callable, Mapping

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from deploy.model import anthropic, gemini, openai, responses
from deploy.model.brain import Refuse, think
from deploy.model.door import HideKeyInQuery, Provider, check_key, read
from deploy.model.exchange import Dialect, Json
from deploy.model.fields import Body
from deploy.model.rejected import Rejected
from deploy.model.sending import send

Handler = Callable[[Request], Awaitable[Response]]
RETRY_AFTER_S = "3"
REFUSALS = {"openai": openai.refusal, "anthropic": anthropic.refusal, "gemini": gemini.refusal}
ASKED_FOR = "This status was asked for with FAIL in the last message."


class NotLocal(RuntimeError):
    """The stand-in was started where it must not be."""


def require_local(environment: Mapping[str, str]) -> None:
    if environment.get("ROOST_STANDIN_MODEL") != "1":
        raise NotLocal(
            "The stand-in model does not start: ROOST_STANDIN_MODEL is not 1. It answers without "
            "thinking and takes any key, so it is for local settings and tests only. Set "
            "ROOST_STANDIN_MODEL=1 there; anywhere else connect a real provider's key."
        )


def refused(provider: Provider, error: Rejected) -> Response:
    status, body = REFUSALS[provider](error)
    headers = {"retry-after": RETRY_AFTER_S} if status == 429 else None
    return JSONResponse(body, status_code=status, headers=headers)


def guarded(provider: Provider, handler: Handler) -> Handler:
    """The handler behind the key check, its rejections in the provider's shape."""

    async def answer(request: Request) -> Response:
        try:
            check_key(request, provider)
            return await handler(request)
        except Rejected as error:
            return refused(provider, error)
        except ClientDisconnect:
            return Response(status_code=499)  # Nobody reads it.

    return answer


def talks(dialect: Dialect) -> Handler:
    async def answer(request: Request) -> Response:
        ask = dialect.parse(await read(request), request.path_params)
        reply = think(ask.turns, ask.tools)
        if isinstance(reply, Refuse):
            raise Rejected(reply.status, ASKED_FOR)
        return await send(request, dialect, ask, reply)

    return answer


def counts(count: Callable[[Body, Mapping[str, str]], Json]) -> Handler:
    async def answer(request: Request) -> Response:
        return JSONResponse(count(await read(request), request.path_params))

    return answer


async def generate(request: Request) -> Response:
    """Gemini puts the method into the path: models/NAME:METHOD."""
    model, _, method = request.path_params["call"].rpartition(":")
    request.path_params.update(model=model, method=method)
    if method == "countTokens":
        return await counts(gemini.count)(request)
    if not model or method not in ("generateContent", "streamGenerateContent"):
        raise Rejected(404, "Methods here: generateContent, streamGenerateContent, countTokens.")
    as_events = request.query_params.get("alt") == "sse"
    return await talks(gemini.SSE if as_events else gemini.LIST)(request)


def shows(models: Callable[[], Json], model: Callable[[str], Json]) -> Handler:
    """The list, or the one model that the path names: any name is served."""

    async def answer(request: Request) -> Response:
        name = request.path_params.get("name")
        return JSONResponse(model(name) if name else models())

    return answer


async def models_of_v1(request: Request) -> Response:
    """One path, two providers: Anthropic's clients show themselves by their headers."""
    if "x-api-key" in request.headers or "anthropic-version" in request.headers:
        shown = guarded("anthropic", shows(anthropic.models, anthropic.model))
    else:
        shown = guarded("openai", shows(openai.models, openai.model))
    return await shown(request)


async def upgrade(request: Request) -> Response:
    """426 sends a client that tried a WebSocket first to plain HTTP at once."""
    status = 426 if "upgrade" in request.headers else 405
    return refused("openai", Rejected(status, "Use POST over HTTP; there is no WebSocket here."))


async def health(_request: Request) -> Response:
    return JSONResponse({"status": "ok", "service": "roost-stand-in-model"})


async def no_such_route(request: Request, error: Exception) -> Response:
    path = request.url.path
    provider: Provider = "gemini" if path.startswith("/v1beta") else "openai"
    if path.startswith("/v1/messages"):
        provider = "anthropic"
    status = error.status_code if isinstance(error, HTTPException) else 404
    return refused(provider, Rejected(status, f"There is no {request.method} {path} here."))


def stand_in() -> Starlette:
    chat = guarded("openai", talks(openai.CHAT))
    gemini_models = guarded("gemini", shows(gemini.models, gemini.model))
    openai_models = guarded("openai", shows(openai.models, openai.model))
    routes = [
        Route("/health", health),
        Route("/v1/models", models_of_v1),
        Route("/v1/models/{name:path}", models_of_v1),
        Route("/v1/chat/completions", chat, methods=["POST"]),
        Route("/v1/responses", guarded("openai", talks(responses.RESPONSES)), methods=["POST"]),
        Route("/v1/responses", upgrade, methods=["GET"]),
        Route("/v1/messages", guarded("anthropic", talks(anthropic.MESSAGES)), methods=["POST"]),
        Route(
            "/v1/messages/count_tokens",
            guarded("anthropic", counts(anthropic.count)),
            methods=["POST"],
        ),
        # Gemini's own OpenAI-shaped door, which some clients use for it.
        Route("/v1beta/openai/chat/completions", chat, methods=["POST"]),
        Route("/v1beta/openai/models", openai_models),
        Route("/v1beta/models", gemini_models),
        Route("/v1beta/models/{call:path}", guarded("gemini", generate), methods=["POST"]),
        Route("/v1beta/models/{name:path}", gemini_models),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(HideKeyInQuery)],
        exception_handlers={HTTPException: no_such_route},
    )
