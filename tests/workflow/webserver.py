"""A local web server with the manners, good and bad, of real ones: for tests of downloads."""

import contextlib
import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Answer:
    """A body; what goes wrong: it drops after `sends` bytes, or pauses after each piece."""

    body: bytes = b""
    status: int = 200
    ranges: bool = False  # honours Range
    refuses: int = 0  # the status for a request with a Range
    says: str = (
        ""  # status 206 with this Content-Range and the whole body, for a request with a Range
    )
    sends: int | None = None
    pause: float = 0.0

    def reply(self, headers):
        """Status, headers and body for a request with these headers."""
        wanted = headers.get("Range", "")
        if wanted and self.refuses:
            return self.refuses, {}, b""
        if wanted and self.says:
            return 206, {"Content-Range": self.says}, self.body
        if wanted and self.ranges:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(self.body):
                return 416, {}, b""
            told = {"Content-Range": f"bytes {start}-{len(self.body) - 1}/{len(self.body)}"}
            return 206, told, self.body[start:]
        return self.status, {}, self.body


class Server:
    """Serves `routes`: path -> answers, the last repeated; counts `hits`, `sent`, `asked`."""

    def __init__(self):
        self.routes = {}
        self.hits = Counter()
        self.sent = 0
        self.asked = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.answer(self)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.block_on_close = False
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(
            target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()

    def answer(self, handler):
        answers = self.routes.get(handler.path, [Answer(status=404)])
        answer = answers[min(self.hits[handler.path], len(answers) - 1)]
        self.hits[handler.path] += 1
        self.asked.append(handler.headers)
        status, told, body = answer.reply(handler.headers)
        handler.send_response(status)
        told["Content-Length"] = str(len(body))
        for name, value in told.items():
            handler.send_header(name, value)
        handler.end_headers()
        whole = memoryview(body)[: answer.sends]
        size = 50 if answer.pause else max(len(whole), 1)
        try:
            for start in range(0, len(whole), size):
                handler.wfile.write(whole[start : start + size])
                self.sent += len(whole[start : start + size])
                time.sleep(answer.pause)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def serve(self, path, *answers):
        """Answer requests for `path` so from now on; the URL."""
        self.routes[path] = [Answer(one) if isinstance(one, bytes) else one for one in answers]
        self.hits[path] = 0
        return self.url + path

    def close(self):
        self.http.shutdown()
        self.http.server_close()


class Rude:
    """Sends `first` over every connection, whatever it is asked, and `then`, if it is not None,
    again and again, each `pause` seconds; after `lasting` seconds it hangs up, so that no test
    waits for ever.
    """

    def __init__(self, first, then, pause=0.01, lasting=120.0):
        self._first, self._then = first, then
        self._pause, self._lasting = pause, lasting
        self.asked = 0
        self.lasts = True  # until it has hung up by itself
        self._open = True
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):  # closed
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        end = time.monotonic() + self._lasting
        with contextlib.suppress(OSError), contextlib.ExitStack() as open_:
            connection = open_.enter_context(connection)
            connection.settimeout(self._lasting)
            if not connection.recv(1 << 16):
                return  # somebody who only knocked
            self.asked += 1
            connection.sendall(self._first)
            while self._then is not None and self._open:
                if time.monotonic() > end:
                    self.lasts = False
                    return
                time.sleep(self._pause)
                connection.sendall(self._then)

    def close(self):
        self._open = False
        self._listening.close()


def closed_port():
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
