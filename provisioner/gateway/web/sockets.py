"""One socket of a browser, and its other half at an agent's web UI."""

import asyncio
from collections.abc import Mapping

from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.typing import Subprotocol

from provisioner.gateway.door import GatewayProblem
from provisioner.gateway.web import headers
from provisioner.gateway.web.places import Place, SignIns, unreachable
from provisioner.gateway.web.refusals import WebRefusal
from provisioner.gateway.web.requests import target_of
from provisioner.gateway.web.together import until

MOST_MESSAGE = 16 * 1024 * 1024  # bytes, as the server in front of us has it
GOING_AWAY, WENT_WRONG = 1001, 1011


class _Connect(connect):
    def process_redirect(self, exc: Exception) -> Exception | str:
        """An agent does not send us, with what signs us in, to somewhere else."""
        return exc


async def join(socket: WebSocket, place: Place, sign_ins: SignIns) -> None:
    """Both halves, until one of them ends. Raises GatewayProblem before the browser's is open."""
    upstream = await _open(socket, place, sign_ins)
    try:
        await socket.accept(upstream.subprotocol)
        await until(_down(upstream, socket), _up(socket, upstream))
    except WebSocketDisconnect:
        pass  # the browser left while something was on its way to it
    finally:
        # What the agent does not take up in time is dropped with the connection.
        await upstream.close(GOING_AWAY)


async def _open(socket: WebSocket, place: Place, sign_ins: SignIns) -> ClientConnection:
    sign_in = await sign_ins.headers(place)
    try:
        return await _dial(socket, place, sign_in)
    except InvalidStatus as refusal:
        status = refusal.response.status_code
        if not place.ui.expired(status, socket.scope["path"]):
            raise _refused(place, status) from refusal
    except ConnectionRefusedError:
        pass  # it may sleep
    except (OSError, TimeoutError, InvalidHandshake) as error:
        raise unreachable(place.agent) from error
    try:
        return await _dial(socket, place, await sign_ins.headers(place, bad=sign_in))
    except InvalidStatus as refusal:
        raise _refused(place, refusal.response.status_code) from refusal
    except (OSError, TimeoutError, InvalidHandshake) as error:
        raise unreachable(place.agent) from error


async def _dial(socket: WebSocket, place: Place, sign_in: Mapping[str, str]) -> ClientConnection:
    told = headers.to_agent(socket.scope["headers"], place.host, sign_in)
    return await _Connect(
        f"ws://{place.host}{target_of(socket.scope).decode('ascii')}",
        host=place.address,
        port=place.port,
        additional_headers=[(n.decode(), v.decode("latin-1")) for n, v in told if n != b"host"],
        subprotocols=[Subprotocol(name) for name in socket.scope["subprotocols"]] or None,
        user_agent_header=None,
        compression=None,
        max_size=MOST_MESSAGE,
        proxy=None,
    )


async def _down(upstream: ClientConnection, socket: WebSocket) -> None:
    """The agent's words to the browser, and its goodbye."""
    try:
        while True:
            message = await upstream.recv()
            if isinstance(message, str):
                await socket.send_text(message)
            else:
                await socket.send_bytes(message)
    except ConnectionClosed as end:
        said = end.rcvd
        code = said.code if said and may_be_sent(said.code) else WENT_WRONG
        await socket.close(code, said.reason if said else None)


async def _up(socket: WebSocket, upstream: ClientConnection) -> None:
    try:
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                code = message.get("code") or GOING_AWAY
                await upstream.close(code if may_be_sent(code) else GOING_AWAY)
                return
            text = message.get("text")
            await upstream.send(message["bytes"] if text is None else text)
    except (ConnectionClosed, WebSocketDisconnect):
        # The other direction tells the browser why.
        await asyncio.Event().wait()


def may_be_sent(code: int) -> bool:
    """Some codes only say that there was none."""
    return code in range(1000, 1004) or code in range(1007, 1015) or code in range(3000, 5000)


def _refused(place: Place, status: int) -> GatewayProblem:
    return WebRefusal(
        status if 400 <= status < 500 else 502,
        "socket_refused",
        "The agent refused this socket",
        f"{place.agent.name} answered {status}.",
        agent=place.agent,
    )
