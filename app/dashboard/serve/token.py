"""One secret for all who may use the server: in a link, a form, a cookie or a header.

A link with `?token=…` or the form sets a cookie and leads to the same address without the token, so that it stays
in no history, bookmark or referrer. Programs send `Authorization: Bearer …`.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from html import escape
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.dashboard.serve.tally import Refusal, Tally
from designer.core.errors import BadInput

AUTO = "auto"
FEWEST_CHARACTERS = 16
MOST_FORM = 4096  # bytes
COOKIE = "austerity_token"
FORM = "application/x-www-form-urlencoded"
POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Token · austerity</title>
<meta name="viewport" content="width=device-width">
<style>:root {{ color-scheme: light dark; font: 1rem/1.5 sans-serif }}
body {{ max-width: 30rem; margin: 4rem auto; padding: 0 1rem }}
input, button {{ font: inherit; padding: .3rem .6rem }}</style></head>
<body><h1>austerity</h1><p role="alert">{line}</p>
<form method="post"><p><label>Token
<input name="token" type="password" autocomplete="current-password" required autofocus></label>
<button>Open</button></p></form></body></html>
"""


def chosen(given: str) -> str:
    """The token to use: none if empty, a new one for `auto`, or the given one if it is long enough."""
    if given == AUTO:
        return secrets.token_urlsafe(24)
    if given and (len(given) < FEWEST_CHARACTERS or given != given.strip() or not given.isprintable()):
        raise BadInput(
            f"--token: must be auto, or have at least {FEWEST_CHARACTERS} characters, without spaces at its ends"
        )
    return given


class TokenCheck:
    """Lets nobody through without the token. `base` is the path of the dashboard, `secure` whether it has https."""

    def __init__(self, app: ASGIApp, token: str, tally: Tally, *, base: str = "", secure: bool = False) -> None:
        self.app, self.tally, self.base = app, tally, base
        self._token = token.encode()
        # what the cookie has: any characters may be in a token, and nobody can read it off a cookie
        self._digest = hashlib.sha256(b"austerity cookie " + self._token).hexdigest()
        self._cookie = f"{COOKIE}={self._digest}; Path={base or '/'}; HttpOnly; SameSite=Lax"
        self._cookie += "; Secure" if secure else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        asks = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        shown = [value for name, value in query if name == "token"]
        if asks and shown:
            right = any(self.matches(one) for one in shown)
            response = self._entered(scope, query) if right else self._refused(scope, wrong=True)
        elif self._known(Headers(scope=scope)):
            await self.app(scope, receive, send)
            return
        else:
            response = await self._ask(scope, receive)
        await response(scope, receive, send)

    def matches(self, given: str) -> bool:
        """Whether this is the token; takes as long whichever character is wrong."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token)

    def _known(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(given.strip(" \t").encode("latin-1"), self._token):
            return True
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        return hmac.compare_digest(cookie.encode("utf-8", "replace"), self._digest.encode())

    async def _ask(self, scope: Scope, receive: Receive) -> Response:
        """The form, or what came of it."""
        given = await _posted(scope, receive)
        if given is None:
            return self._refused(scope, wrong="authorization" in Headers(scope=scope))
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        return self._entered(scope, query) if self.matches(given) else self._refused(scope, wrong=True)

    def _entered(self, scope: Scope, query: list[tuple[str, str]]) -> Response:
        # one slash only: two would begin the name of another host
        path = f"{self.base}/{quote(scope['path'].lstrip('/' + chr(92)))}"
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        return RedirectResponse(
            path + (f"?{rest}" if rest else ""), 303, {"Set-Cookie": self._cookie, "Cache-Control": "no-store"}
        )

    def _refused(self, scope: Scope, *, wrong: bool) -> Response:
        if wrong:
            refusal = Refusal("wrong token", 403, "This is not the token of this server.")
        else:
            refusal = Refusal("no token", 401, "This server asks for a token. Whoever runs it has it.")
        self.tally.refuse(refusal, str((scope.get("client") or ("",))[0]))
        headers = {"Cache-Control": "no-store"} | ({} if wrong else {"WWW-Authenticate": "Bearer"})
        if scope["type"] == "http" and "text/html" in Headers(scope=scope).get("accept", ""):
            headers |= {"Content-Security-Policy": POLICY}
            return HTMLResponse(PAGE.format(line=escape(refusal.line)), refusal.status, headers)
        return PlainTextResponse(f"{refusal.line}\n", refusal.status, headers)


async def _posted(scope: Scope, receive: Receive) -> str | None:
    """The token that the form has sent; None if this is no form."""
    if scope["type"] != "http" or scope["method"] != "POST":
        return None
    headers = Headers(scope=scope)
    size = headers.get("content-length", "")
    if headers.get("content-type", "") != FORM or not size.isdigit() or int(size) > MOST_FORM:
        return None
    fields = dict(parse_qsl((await Request(scope, receive).body()).decode("utf-8", "replace")))
    return fields.get("token", "")
