"""Who gets in, and what may be asked: over plain HTTP, without a browser."""

import http.client
import socket
import subprocess
import sys

import pytest

from bomi.errors import BomiError


def ask(page, path="/", *, method="GET", body=None, host=None, **headers):
    """Status, headers and body of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=30)
    named = {"Cookie": f"bomi-{page.port}={page.token}"} | {n.replace("_", "-"): v for n, v in headers.items()}
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{page.port}")
    for name, value in named.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, content


def handshake(page, **headers):
    """The first line that a web socket is answered with."""
    lines = [
        "GET /_nicegui_ws/socket.io/?EIO=4&transport=websocket HTTP/1.1", f"Host: 127.0.0.1:{page.port}",
        "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        *(f"{n}: {v}" for n, v in ({"Cookie": f"bomi-{page.port}={page.token}"} | headers).items()), "", "",
    ]  # fmt: skip
    with socket.create_connection(("127.0.0.1", page.port), timeout=30) as connection:
        connection.sendall("\r\n".join(lines).encode())
        return connection.recv(4096).split(b"\r\n")[0]


def test_bound_to_this_machine_it_answers_to_its_own_name_and_to_itself(lab, served):
    page = served(lab)
    status, headers, body = ask(page)
    assert status == 200
    assert b"bomi" in body
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "connect-src 'self'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert not any(name.startswith("access-control") for name in headers)
    assert ask(page, host=f"localhost:{page.port}")[0] == 200
    # A foreign name that points here.
    assert ask(page, host="evil.example")[0] == 403
    assert ask(page, host=f"evil.example:{page.port}")[0] == 403
    assert ask(page, host="127.0.0.1.evil.example")[0] == 403
    # Another site.
    own = f"http://127.0.0.1:{page.port}"
    assert ask(page, Origin=own)[0] == 200
    assert ask(page, Origin="http://evil.example")[0] == 403
    assert ask(page, Origin="null")[0] == 403
    assert ask(page, Origin="http://127.0.0.1:1")[0] == 403
    assert ask(page, method="POST", body=b"", Content_Length="0", Sec_Fetch_Site="cross-site")[0] == 403
    assert ask(page, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0] == 403
    assert ask(page, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0] == 200  # a link to the page
    polling = "/_nicegui_ws/socket.io/?EIO=4&transport=polling"
    assert ask(page, polling, Origin="http://evil.example")[0] == 403
    assert not any(name.startswith("access-control") for name in ask(page, polling, Origin=own)[1])
    assert b"101" in handshake(page, Origin=own)
    assert b"403" in handshake(page, Origin="http://evil.example")
    assert "beware" not in page.said()
    # A frame, even of our own: refused before anything is built for it.
    for dest in ("iframe", "frame", "embed", "object"):
        status, _, body = ask(page, Sec_Fetch_Dest=dest, Sec_Fetch_Mode="navigate")
        assert (status, len(body) < 100) == (403, True)
    # Without the token, nobody: another user of this machine neither.
    assert ask(page, Cookie="")[0] == 401
    assert ask(page, "/?view=data&token=wrong", Cookie="")[0] == 401
    assert ask(page, "/static/bomi.js", Cookie="")[0] == 401
    assert b"401" in handshake(page, Cookie="") or b"403" in handshake(page, Cookie="")
    assert ask(page, f"/?token={page.token}", Cookie="")[:2][0] == 303
    token = page.state / "bomi" / "web-token"
    assert token.stat().st_mode & 0o077 == 0


PATHS = [
    "/heat-treatment.csv", "/../heat-treatment.csv", "/%2e%2e/%2e%2e/etc/passwd", "/_nicegui/../../../etc/passwd",
    "/_nicegui/static/..%2f..%2f..%2f..%2fetc/passwd", "//etc/passwd", "/docs", "/openapi.json",
    "/_nicegui/client/x/upload/1", "/_nicegui/auto/static/../../../../../etc/passwd",
]  # fmt: skip


def test_no_path_leads_to_a_file(lab, served):
    page = served(lab)
    for path in PATHS:
        status, _, body = ask(page, path)
        assert status in (403, 404, 405), path
        assert b"root:" not in body, path
        assert b"thermostat" not in body, path


def test_a_body_beyond_the_limit_is_refused(lab, served):
    page = served(lab)
    assert ask(page, "/x", method="POST", Content_Length=str(30 * 2**20), body=b"")[0] == 413
    assert ask(page, "/x", method="POST", Content_Length="many", body=b"")[0] in (400, 413)


def test_bound_elsewhere_it_warns_and_needs_its_token(lab, served):
    page = served(lab, "--host", "0.0.0.0")
    said = page.said()
    assert "beware: bound to 0.0.0.0" in said
    token = said.partition("?token=")[2].split()[0]
    assert len(token) >= 32
    assert ask(page, Cookie="")[0] == 401
    assert ask(page, "/?token=wrong", Cookie="")[0] == 401
    assert f"http://127.0.0.1:{page.port}" not in said  # but an address that others can reach
    assert ask(page, Cookie=f"bomi-{page.port}=wrong")[0] == 401
    assert b"401" in handshake(page, Cookie="") or b"403" in handshake(page, Cookie="")
    assert ask(page, "/_nicegui_ws/socket.io/?EIO=4&transport=polling", Cookie="")[0] == 401
    status, headers, _ = ask(page, f"/?token={token}&view=gaps", Cookie="")
    assert (status, headers["location"]) == (303, "/?view=gaps")
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert ask(page, f"//evil.example/?token={token}", Cookie="")[1]["location"] == "/evil.example/"
    status, _, body = ask(page, Cookie=cookie.partition(";")[0])
    assert status == 200
    assert token.encode() not in body
    assert ask(page, Cookie=cookie.partition(";")[0], Origin="http://evil.example")[0] == 403


def test_a_port_that_is_taken_and_a_folder_that_is_not_there_are_told(lab, served):
    from bomi.web.server import serve

    page = served(lab)
    with pytest.raises(BomiError, match=f"cannot listen at 127.0.0.1, port {page.port}: Address already in use"):
        serve(lab, port=page.port, browser=False)
    with pytest.raises(BomiError, match="there is no folder"):
        serve(lab.parent / "none" / "lab.csv", browser=False)


def test_without_the_extra_the_error_names_the_remedy(lab, monkeypatch):
    from bomi.web.server import serve

    monkeypatch.setitem(sys.modules, "nicegui", None)
    with pytest.raises(BomiError, match=r"pip install 'bomi\[web\]'"):
        serve(lab, browser=False)


def test_the_page_itself_loads_nothing_that_computes(served):
    program = (
        "import sys\nfrom bomi.web import page, server, security\n"
        "heavy = {'torch', 'botorch', 'gpytorch', 'matplotlib', 'sklearn', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
