"""A tab that is closed says so, and what was held in memory for it goes."""

import asyncio

from fastapi import Request, Response
from nicegui import Client

LINGER = 2.0  # seconds in which it may be back: a page that is loaded anew says good-bye too


async def say_good_bye(request: Request) -> Response:
    """Forget a tab, unless it is back by then."""
    name = (await request.body())[:64].decode("ascii", "replace")

    def let_go() -> None:
        client = Client.instances.get(name)
        if client is not None and not client.has_socket_connection:
            client.delete()

    asyncio.get_running_loop().call_later(LINGER, let_go)
    return Response(status_code=204)
