"""Start the page, on this machine alone unless told otherwise."""

from __future__ import annotations

import asyncio
import errno
import socket
import webbrowser
from collections.abc import Callable
from pathlib import Path

from bomi.errors import BomiError

PORT = 8642
WARM_UP_AFTER = 2.0  # seconds
LOOK_EVERY = 0.5  # seconds between two looks at the files
RECONNECT = 60.0  # seconds that a tab's state is held in memory for a connection that was lost
MESSAGE_LIMIT = 4 * 2**20  # bytes that a tab may send at once
LOGO = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0067a3"/>'
    '<path d="M4 24 C10 24 10 8 16 8 S22 24 28 24" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"/>'
    '<circle cx="16" cy="8" r="2.6" fill="#ffc857"/></svg>'
)


def serve(
    table: Path,
    campaign: Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    browser: bool = True,
    say: Callable[[str], None] = lambda text: None,
) -> None:
    """Serve the page of a table, or of the campaigns below a folder, until it is interrupted.

    `say` is told its address, and what to beware of.
    """
    try:
        from nicegui import app, core, ui
    except ImportError:
        raise BomiError("the page needs NiceGUI: pip install 'bomi[web]'") from None
    from bomi.web import page, shelf, theme
    from bomi.web.desk import Desk
    from bomi.web.desks import Desks
    from bomi.web.goodbye import say_good_bye
    from bomi.web.security import Guard, is_loopback
    from bomi.web.tokens import own_token

    if not table.is_dir() and not table.resolve().parent.is_dir():
        raise BomiError(f"there is no folder {table.resolve().parent}")
    port = _free_port(host, port)
    token = own_token()
    address = f"http://{_reachable(host)}:{port}/?token={token}"
    desks = Desks(table.resolve(), campaign.resolve() if campaign else None)

    def index(view: str = "home", table: str = "") -> None:
        desk = desks.get(table)
        if isinstance(desk, Desk):
            page.build(desk, view, title=desks.title(desk), others=desks.is_folder)
        else:
            shelf.build(desks.path)

    ui.page("/", title=f"{desks.path.name} – bomi", favicon=LOGO, reconnect_timeout=RECONNECT)(index)
    app.add_static_files("/static", theme.STATIC)
    app.post("/bye")(say_good_bye)

    def started() -> None:
        say(f"{table.name or table} is at {address} (Ctrl+C ends it)")
        if not is_loopback(host):
            say(
                f"beware: bound to {host}, the page can be reached by other machines, and over plain HTTP; whoever has "
                "the address with its token can read and change the table"
            )
        if browser:
            webbrowser.open(address)

    def connected() -> None:  # once the first view is there: loading what computes takes all of a core
        asyncio.get_running_loop().call_later(WARM_UP_AFTER, desks.worker.warm_up)

    app.on_startup(started)
    app.on_connect(connected)
    app.on_shutdown(desks.close)
    app.timer(LOOK_EVERY, desks.watch)
    app.add_middleware(Guard, port=port, token=token, local=is_loopback(host))
    core.sio.eio.max_http_buffer_size = MESSAGE_LIMIT
    ui.run(
        host=host,
        port=port,
        show=False,
        reload=False,
        dark=None,
        tailwind=False,
        show_welcome_message=False,
        language="en-US",
        reconnect_timeout=10.0,  # which sets how soon a lost connection is noticed
        binding_refresh_interval=None,
    )


def serve_api(
    where: str, *, host: str = "127.0.0.1", port: int | None = None, workers: int = 2, say: Callable[[str], None]
) -> None:
    """Serve the campaigns of a folder or a database to programs until it is interrupted."""
    try:
        import fastapi  # noqa: F401
        import uvicorn
    except ImportError:
        raise BomiError("it needs FastAPI and uvicorn: pip install 'bomi[web]'") from None
    from bomi.web.api import make_app
    from bomi.web.security import is_loopback
    from bomi.web.stores import Database, open_store
    from bomi.web.tokens import own_token

    store = open_store(where)
    port, token = _free_port(host, port), own_token()
    what = "the database" if isinstance(store, Database) else where  # an address may hold a password
    say(f"campaigns of {what} at http://{_reachable(host)}:{port}/campaigns, described at /docs (Ctrl+C ends it)")
    say(f"every request needs the header: Authorization: Bearer {token}")
    if not is_loopback(host):
        say(f"beware: bound to {host}, it can be reached by other machines, and over plain HTTP")
    uvicorn.run(
        make_app(store, token, workers),
        host=host,
        port=port,
        log_level="warning",
        timeout_graceful_shutdown=5,
    )


def _reachable(host: str) -> str:
    """The host as an address for others: of all addresses, the one that this machine has in its network."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 - asked about, not bound to
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect(("10.255.255.255", 1))  # nothing is sent: it asks which address would be used
                return str(probe.getsockname()[0])
            except OSError:
                return socket.gethostname()
    return f"[{host}]" if ":" in host else host


def _free_port(host: str, wanted: int | None) -> int:
    """The port that was asked for, or else the usual one or the next that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in [wanted] if wanted is not None else [*range(PORT, PORT + 20), 0]:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                if wanted is not None or error.errno != errno.EADDRINUSE:
                    reason = error.strerror or str(error)
                    raise BomiError(f"the page cannot listen at {host}, port {port}: {reason}; try another") from None
                continue
            return int(probe.getsockname()[1])
    raise BomiError(f"there is no free port at {host}")  # pragma: no cover
