"""Who may speak to the page: this machine, or who has the token; and only from the page itself.

Every request, web sockets among them, passes `Guard` first:

- A token is needed: once in the address, then as a cookie.
- Bound to loopback, the name by which it was called must be a loopback one, so that no foreign name that points here
  (DNS rebinding) reaches it.
- A request that another site caused is refused: its `Origin` is not ours, or the browser says `cross-site`. So is one
  for a frame, before anything is built for it.
- A body beyond the limit is cut off, whatever its declared length.
- Answers may not be framed, load nothing from elsewhere, and give no address away.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlencode

from bomi.campaign.edits import UPLOAD_LIMIT

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

DAYS = 30  # that a browser need not show the token again
FRAMES = ("iframe", "frame", "embed", "object", "fencedframe")
BODY_LIMIT = UPLOAD_LIMIT + 64 * 1024  # and what a form puts around a file
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


def is_loopback(host: str) -> bool:
    """Whether an address or a name means this machine alone."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


@dataclass(frozen=True)
class Guard:
    """Stands before the page; `local`: it answers to this machine only."""

    app: App
    port: int
    token: str
    local: bool = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if refusal := self._refusal(scope, headers):
            await _refuse(scope, receive, send, *refusal)
        elif _query(scope).get("token") or not self._has_cookie(headers):
            await self._admit(scope, receive, send)
        else:
            await self.app(scope, _limited(receive), _with_headers(send))

    def _refusal(self, scope: Scope, headers: MutableMapping[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if self.local and not is_loopback(host.rsplit(":", 1)[0] if not host.endswith("]") else host):
            return 403, "This page answers to this machine only; open it as http://127.0.0.1."
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            return 403, "This request was made by another site."
        if headers.get("sec-fetch-dest") in FRAMES:
            return 403, "This page is not shown within another one."
        opens_page = scope.get("method") == "GET" and headers.get("sec-fetch-mode") == "navigate"
        if site in ("cross-site", "same-site") and not opens_page:
            return 403, "This request was made by another site."
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > BODY_LIMIT:
            return 413, f"A file may have up to {UPLOAD_LIMIT // 2**20} MB."
        return None

    @property
    def _cookie(self) -> str:
        return f"bomi-{self.port}"  # cookies know no ports: two pages on one machine keep their own

    def _has_cookie(self, headers: MutableMapping[str, str]) -> bool:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        return found is not None and self._is_token(found.value)

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self.token.encode())

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """With the token in the address: a cookie, and the same address without it."""
        query = _query(scope)
        if scope["type"] != "http" or not self._is_token(query.pop("token", [""])[0]):
            await _refuse(scope, receive, send, 401, "Open the address that `bomi web` printed, with its token.")
            return
        rest = urlencode(query, doseq=True)
        path = "/" + scope["path"].lstrip("/")  # never to another host
        cookie = f"{self._cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/; Max-Age={DAYS * 86400}"
        headers = [
            (b"location", (path + ("?" + rest if rest else "")).encode("latin-1", "replace")),
            (b"set-cookie", cookie.encode()),
        ]
        await send({"type": "http.response.start", "status": 303, "headers": [*headers, *HEADERS]})
        await send({"type": "http.response.body", "body": b""})


def _query(scope: Scope) -> dict[str, list[str]]:
    return parse_qs(scope.get("query_string", b"").decode("latin-1"))


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, message: str) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": message})
        return
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close"), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": message.encode() + b"\n"})


def _limited(receive: Receive) -> Receive:
    """A request whose body ends at the limit, declared or not."""
    taken = 0

    async def counted() -> MutableMapping[str, Any]:
        nonlocal taken
        message = await receive()
        if message["type"] == "http.request":
            taken += len(message.get("body", b""))
            if taken > BODY_LIMIT:
                return {"type": "http.disconnect"}
        return message

    return counted


def _with_headers(send: Send) -> Send:
    """An answer with our headers, and with none that lets other sites read it."""
    ours = {name for name, _ in HEADERS}

    async def guarded(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            kept = [
                (name, value)
                for name, value in message.get("headers", [])
                if name.lower() not in ours and not name.lower().startswith(b"access-control-")
            ]
            message = {**message, "headers": [*kept, *HEADERS]}
        await send(message)

    return guarded
