"""A tab that is closed says so, and what was held in memory for it goes."""

import asyncio

from fastapi import Response
from nicegui import Client

LINGER = 2.0  # seconds in which it may be back: a page that is loaded anew says good-bye too


async def say_good_bye(client: str = "") -> Response:
    """Forget a tab, unless it is back by then."""

    def let_go() -> None:
        found = Client.instances.get(client)
        if found is not None and not found.has_socket_connection:
            for task in found._delete_tasks.values():  # NiceGUI would delete it a second time, and complain
                task.cancel()
            found.delete()

    asyncio.get_running_loop().call_later(LINGER, let_go)
    return Response(status_code=204)
