"""The part of Paperclip's API the platform uses, with the answers seen from 2026.916.1."""

import json
from typing import Any
from uuid import uuid4

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from runtimes.adapter import Endpoint

BASE = "http://10.0.0.2:3100"
PASSWORD = "e" * 48
SETTINGS = {"provider": "anthropic", "model": "m-1"}
LATER = "2026-11-30T19:42:41.097Z"
Item = dict[str, Any]


class FakePaperclip:
    """Blank at first. `answer` and `ending` are what the next message brings; `polls` is how often
    a run is seen running before it has ended."""

    def __init__(self) -> None:
        self.people: dict[str, str] = {}
        self.claimed, self.sign_up_open, self.chat_on = False, True, False
        self.tokens: list[str] = []
        self.companies: list[Item] = []
        self.agents: list[Item] = []
        self.issues: list[Item] = []
        self.comments: list[Item] = []
        self.runs: list[Item] = []
        self.changes: list[str] = []
        self.answer, self.ending, self.error = "Good day.", "succeeded", ""
        self.polls, self.retries, self.log = 1, False, ""

    def client(self) -> httpx.AsyncClient:
        routes = [
            Route("/api/auth/{verb}/email", self.sign, methods=["POST"]),
            Route("/api/bootstrap/claim", self.claim, methods=["POST"]),
            Route("/api/board-api-keys", self.keys, methods=["GET", "POST"]),
            Route("/api/instance/settings/experimental", self.settings, methods=["GET", "PATCH"]),
            Route("/api/companies", self.firms, methods=["GET", "POST"]),
            Route("/api/companies/{company}/agents", self.staff, methods=["GET", "POST"]),
            Route("/api/companies/{company}/issues", self.tasks),
            Route("/api/companies/{company}/chats/{agent}", self.chat, methods=["GET", "POST"]),
            Route("/api/agents/{agent}", self.change, methods=["PATCH"]),
            Route("/api/issues/{issue}/comments", self.said, methods=["GET", "POST"]),
            Route("/api/issues/{issue}/runs", self.all_runs),
            Route("/api/issues/{issue}/live-runs", self.live_runs),
            Route("/api/heartbeat-runs/{run}", self.one_run),
            Route("/api/heartbeat-runs/{run}/log", self.run_log),
            Route("/api/issues/{issue}", self.issue),
        ]
        app = Starlette(routes=routes)
        app.add_middleware(_Watch, fake=self)
        return httpx.AsyncClient(transport=httpx.ASGITransport(app=app))

    def settled(self) -> Endpoint:
        """As after its set-up, without having been through it."""
        self.people["owner@agent.invalid"], self.claimed, self.chat_on = PASSWORD, True, True
        self.tokens.append("pcp_board_1")
        company = self.new(self.companies, name="Mine")
        agent = self.new(self.agents, name="Assistant", adapterType="claude_local")
        own = {"token": "pcp_board_1", "company": company["id"], "agent": agent["id"]}
        return Endpoint(BASE, "pcp_board_1", own | {"password": PASSWORD})

    def new(self, into: list[Item], **values: Any) -> Item:
        into.append({"id": str(uuid4()), "createdAt": LATER, "updatedAt": LATER, **values})
        return into[-1]

    def comment(self, issue: str, author: str, body: str, **values: Any) -> Item:
        return self.new(self.comments, issueId=issue, authorType=author, body=body, **values)

    def begin(self, issue: str, comment: str, **values: Any) -> None:
        run = self.new(self.runs, issueId=issue, status="running", polls=self.polls, **values)
        run["wakeCommentIds"] = [comment]
        run["runId"] = run["id"]

    def poll(self, run: Item) -> None:
        """A look at a run brings it nearer to its end."""
        if run["status"] != "running":
            return
        run["polls"] -= 1
        if run["polls"] >= 0:
            return
        run |= {"status": self.ending, "error": self.error, "logBytes": len(self.log.encode())}
        if self.answer:
            self.comment(run["issueId"], "agent", self.answer, createdByRunId=run["id"])
        if self.retries:
            self.ending, self.retries = "succeeded", False
            self.begin(run["issueId"], run["wakeCommentIds"][0], retryOfRunId=run["id"])

    async def sign(self, request: Request) -> Response:
        body, verb = await request.json(), request.path_params["verb"]
        if verb == "sign-up" and not self.sign_up_open:
            return refusal(400, "Sign up is not enabled")
        if verb == "sign-up":
            self.people[body["email"]] = body["password"]
        elif self.people.get(body["email"]) != body["password"]:
            return JSONResponse({"message": "Invalid email or password"}, 401)
        answer = JSONResponse({"token": "t", "user": {}})
        answer.set_cookie("paperclip-default.session_token", "signed", httponly=True)
        return answer

    async def claim(self, request: Request) -> Response:
        if "session_token=signed" not in request.headers.get("cookie", ""):
            return refusal(401, "Sign in from a browser session")
        if self.claimed:
            return refusal(409, "Someone else has already claimed this instance")
        self.claimed = True
        return JSONResponse({"claimed": True})

    async def keys(self, request: Request) -> Response:
        if request.method == "GET":
            return JSONResponse([{"id": token} for token in self.tokens])
        self.tokens.append(f"pcp_board_{len(self.tokens) + 1}")
        return JSONResponse({"token": self.tokens[-1], **await request.json()}, 201)

    async def settings(self, request: Request) -> Response:
        if request.method == "PATCH":
            self.chat_on = (await request.json())["enableAgentChat"]
        return JSONResponse({"enableAgentChat": self.chat_on})

    async def firms(self, request: Request) -> Response:
        if request.method == "POST":
            return JSONResponse(self.new(self.companies, **await request.json()), 201)
        return JSONResponse(self.companies)

    async def staff(self, request: Request) -> Response:
        if request.method == "POST":
            return JSONResponse(self.new(self.agents, **await request.json()), 201)
        return JSONResponse(self.agents)

    async def change(self, request: Request) -> Response:
        (agent,) = [one for one in self.agents if one["id"] == request.path_params["agent"]]
        agent |= await request.json()
        return JSONResponse(agent)

    async def tasks(self, request: Request) -> Response:
        return JSONResponse([one for one in self.issues if not one.get("chat")])

    async def chat(self, request: Request) -> Response:
        if not self.chat_on:
            return refusal(404, "Agent Chat is disabled")
        found = [one for one in self.issues if one.get("chat")]
        if not found and request.method == "POST":
            found = [self.new(self.issues, title="Chat with Assistant", chat=True)]
        return JSONResponse(found[0] if found else None)

    async def said(self, request: Request) -> Response:
        issue = request.path_params["issue"]
        if issue not in [one["id"] for one in self.issues]:
            return refusal(404, "Issue not found")
        if request.method == "POST":
            body = await request.json()
            if not body["clientRequestId"]:
                return refusal(422, "Chat messages require a clientRequestId")
            comment = self.comment(issue, "user", body["body"])
            self.begin(issue, comment["id"])
            return JSONResponse(comment, 201)
        found = [one for one in self.comments if one["issueId"] == issue]
        order = request.query_params.get("order")
        return JSONResponse(found if order == "asc" else found[::-1])

    async def all_runs(self, request: Request) -> Response:
        return JSONResponse(self.runs[::-1])

    async def live_runs(self, request: Request) -> Response:
        for run in list(self.runs):
            self.poll(run)
        live = [one for one in self.runs if one["status"] in ("queued", "running")]
        size = len(self.log.encode())
        return JSONResponse([{**one, "lastOutputBytes": size} for one in live])

    async def one_run(self, request: Request) -> Response:
        (run,) = [one for one in self.runs if one["id"] == request.path_params["run"]]
        return JSONResponse(run)

    async def run_log(self, request: Request) -> Response:
        start, most = (int(request.query_params[name]) for name in ("offset", "limitBytes"))
        content = self.log.encode()[start : start + most].decode()
        return JSONResponse({"content": content})

    async def issue(self, request: Request) -> Response:
        why = {"nextAction": "The previous execution holds on."}
        return JSONResponse({"id": request.path_params["issue"], "executionBlocker": why})


class _Watch:
    """Lets in whoever brings a key of this Paperclip, and keeps what was changed."""

    def __init__(self, app: Any, fake: FakePaperclip) -> None:
        self.app, self.fake = app, fake

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope)
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        signed = "signed" in request.headers.get("cookie", "")
        if "/api/auth/" not in request.url.path and not signed and bearer not in self.fake.tokens:
            return await refusal(401, "Board authentication required")(scope, receive, send)
        if request.method != "GET":
            self.fake.changes.append(f"{request.method} {request.url.path}")
        await self.app(scope, receive, send)


def refusal(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status)


def logged(*events: Any) -> str:
    """A run's log: what the program wrote, in lines that hold pieces of it."""
    pieces = [json.dumps(event) + "\n" for event in events]
    return "".join(json.dumps({"stream": "stdout", "chunk": one}) + "\n" for one in pieces)
