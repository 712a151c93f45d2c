"""A headless Chromium by its DevTools protocol, with Python's standard library alone."""
import base64
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class WebSocket:
    """A client of RFC 6455 without extensions: text messages only."""

    def __init__(self, url):
        host, _, path = url.removeprefix("ws://").partition("/")
        name, _, port = host.partition(":")
        self.socket = socket.create_connection((name, int(port)), timeout=30)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += self._read(1)
        if b" 101 " not in answer.split(b"\r\n")[0]:
            raise RuntimeError(f"no websocket: {answer[:200]}")

    def _read(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise RuntimeError("the browser closed the connection")
            data += more
        return data

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        head = b"\x81" + (struct.pack("!B", 0x80 | len(data)) if len(data) < 126 else
                          struct.pack("!BH", 0xFE, len(data)) if len(data) < 65536 else
                          struct.pack("!BQ", 0xFF, len(data)))
        self.socket.sendall(head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def receive(self):
        message = b""
        while True:
            first, second = self._read(2)
            size = second & 0x7F
            if size == 126:
                (size,) = struct.unpack("!H", self._read(2))
            elif size == 127:
                (size,) = struct.unpack("!Q", self._read(8))
            data = self._read(size)
            if first & 0x0F in (0, 1):
                message += data
                if first & 0x80:
                    return message.decode()


class Browser:
    def __init__(self):
        self.profile = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-extensions", "--disable-background-networking", "--remote-debugging-port=0",
             "--remote-allow-origins=*", f"--user-data-dir={self.profile.name}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.number, self.socket = 0, None
        try:
            self.socket = WebSocket(self._page())
        except BaseException:
            self.close()
            raise

    def _page(self):
        port_file, limit = pathlib.Path(self.profile.name) / "DevToolsActivePort", time.monotonic() + 60
        while time.monotonic() < limit:
            if port_file.exists() and (lines := port_file.read_text().split()):
                with urllib.request.urlopen(f"http://127.0.0.1:{lines[0]}/json", timeout=30) as answer:
                    for target in json.load(answer):
                        if target["type"] == "page":
                            return target["webSocketDebuggerUrl"]
            time.sleep(0.1)
        raise RuntimeError("the browser does not start")

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.receive())
            if answer.get("id") != self.number:
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            return answer["result"]

    def run(self, script):
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def show(self, url, width, height, dark):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=url)
        limit = time.monotonic() + 30
        while time.monotonic() < limit:
            if self.run("location.href !== 'about:blank' && document.readyState === 'complete'"):
                return
            time.sleep(0.05)
        raise RuntimeError(f"{url} does not load")

    def screenshot(self, path):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.profile.cleanup()
