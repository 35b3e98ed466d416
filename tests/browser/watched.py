"""Watches a browser for what must never happen: requests to elsewhere, errors and policy violations in the console."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Page, expect


class Watch:
    def __init__(self, context: BrowserContext, origin: str) -> None:
        self.origin = urlsplit(origin).netloc
        self.urls: list[str] = []
        self.complaints: list[str] = []
        context.on("request", lambda request: self.urls.append(request.url))
        context.on("console", lambda message: message.type == "error" and self.complaints.append(message.text))
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))

    def foreign(self) -> list[str]:
        """Requests that left the page's origin; blobs are the page's own."""
        return [url for url in self.urls if not url.startswith("blob:") and urlsplit(url).netloc != self.origin]


def send(page: Page, text: str) -> None:
    """Writes a message and sends it with Enter."""
    box = page.get_by_label("Ask for a change or a question")
    box.fill(text)
    expect(page.get_by_test_id("send")).to_be_enabled()
    box.press("Enter")
