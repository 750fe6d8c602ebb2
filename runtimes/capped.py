"""An HTTP client for talking to agents, which may answer with whatever they like, without end."""

import ssl
from collections.abc import AsyncIterator

import httpx

# Agents are spoken to in plain HTTP. Without this every client would first read the machine's
# certificate authorities: 30 ms of a core, more than all else that a probe costs.
_NOBODY_TRUSTED = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class AnswerTooLong(httpx.ReadError):
    """There is more of it than we read."""


class CappedStream(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._left = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._left -= len(chunk)
            if self._left < 0:
                raise AnswerTooLong("The answer is longer than we read.")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class CappedTransport(httpx.AsyncHTTPTransport):
    def __init__(self, most: int) -> None:
        super().__init__(verify=_NOBODY_TRUSTED)
        self._most = most

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        # What is packed small may unpack large; asked like this, servers do not pack.
        request.headers["Accept-Encoding"] = "identity"
        response = await super().handle_async_request(request)
        if response.headers.get("Content-Encoding", "identity") != "identity":
            await response.aclose()
            raise httpx.ReadError("The answer is packed, which was not asked for.")
        stream = response.stream
        assert isinstance(stream, httpx.AsyncByteStream)  # noqa: S101  what this transport makes
        response.stream = CappedStream(stream, self._most)
        return response


def capped_client(most: int) -> httpx.AsyncClient:
    """Reads at most `most` bytes of an answer, then raises AnswerTooLong. Ignores the machine's
    proxy settings, which are not for talking to our own containers, and keeps no connection: an
    agent's address may be another agent's tomorrow."""
    transport = CappedTransport(most)
    return httpx.AsyncClient(transport=transport, trust_env=False, follow_redirects=False)
