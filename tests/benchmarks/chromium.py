"""A page in headless Chromium, by the DevTools protocol: what the tests of the report need."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tornado.websocket import WebSocketClientConnection, websocket_connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
LARGEST_MESSAGE = 200_000_000


def chromium() -> str | None:
    """The browser on this machine, None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """A tab of the browser, and all that it complained of or asked the network for."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self._socket, self._number = socket, 0
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._events: set[str] = set()

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and give its result."""
        self._number += 1
        number = self._number
        await self._socket.write_message(
            json.dumps({"id": number, "method": method, "params": parameters})
        )
        while (message := await self._next()).get("id") != number:
            pass
        assert "error" not in message, f"{method}: {message['error']}"
        return dict(message["result"])

    async def open(self, file: Path) -> None:
        """Show a file, and wait until it has loaded."""
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{domain}.enable")
        self._events.clear()
        await self.call("Page.navigate", url=file.as_uri())
        while "Page.loadEventFired" not in self._events:
            await self._next()

    async def value(self, script: str) -> Any:
        """What a piece of JavaScript gives; a promise is waited for."""
        found = await self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def size(self, width: int, height: int = 900) -> None:
        """Give the page a screen of so many pixels."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip

    async def scheme(self, name: str) -> None:
        """Ask for a light or a dark page."""
        wanted = [{"name": "prefers-color-scheme", "value": name}]
        await self.call("Emulation.setEmulatedMedia", features=wanted)

    async def mouse(self, x: float, y: float, *kinds: str) -> None:
        """Move the mouse there, or press it."""
        for kind in kinds or ("mouseMoved",):
            await self.call(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, clickCount=1,
                button="none" if kind == "mouseMoved" else "left",
            )  # fmt: skip

    async def click(self, selector: str) -> None:
        """Scroll to an element and click on its middle."""
        x, y = await self.middle(selector)
        await self.mouse(x, y, "mouseMoved", "mousePressed", "mouseReleased")

    async def middle(self, selector: str) -> tuple[float, float]:
        """Scroll to an element, and say where its middle is."""
        box = await self.value(
            f"""(() => {{
                const element = document.querySelector({json.dumps(selector)});
                element.scrollIntoView({{block: "center", behavior: "instant"}});
                const box = element.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2];
            }})()"""
        )
        return box[0], box[1]

    async def until(self, script: str, seconds: float = 10.0) -> Any:
        """Wait until a piece of JavaScript gives something that counts as true."""
        for _ in range(int(20 * seconds)):
            if found := await self.value(script):
                return found
            await asyncio.sleep(0.05)
        raise AssertionError(f"never true: {script}")

    async def screenshot(self, file: Path) -> None:
        """The whole page as a PNG."""
        found = await self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(found["data"]))

    async def _next(self) -> dict[str, Any]:
        message = await asyncio.wait_for(self._socket.read_message(), 60.0)
        assert message is not None, "the browser has gone"
        found: dict[str, Any] = json.loads(message)
        name, about = found.get("method", ""), found.get("params", {})
        self._events.add(name)
        if name == "Runtime.exceptionThrown" or (
            name == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning")
        ):
            self.complaints.append(json.dumps(about))
        if name == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.complaints.append(about["entry"]["text"])
        if name == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        return found


@asynccontextmanager
async def new_page(browser: str) -> AsyncIterator[Page]:
    """A browser with one page, ended with the block."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-extensions", "--remote-debugging-port=0",
             f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield await _connected(Path(profile) / "DevToolsActivePort")
        finally:
            process.terminate()
            process.wait(30)


async def _connected(port_file: Path) -> Page:
    for _ in range(600):
        if port_file.exists() and len(lines := port_file.read_text().split()) == 2:
            break
        await asyncio.sleep(0.1)
    port, path = lines
    root = await _socket(f"ws://127.0.0.1:{port}{path}")
    browser = Page(root)
    target = await browser.call("Target.createTarget", url="about:blank")
    return Page(await _socket(f"ws://127.0.0.1:{port}/devtools/page/{target['targetId']}"))


async def _socket(address: str) -> WebSocketClientConnection:
    return await websocket_connect(address, max_message_size=LARGEST_MESSAGE)
