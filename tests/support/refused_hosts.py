"""A browser that reaches this machine only, as in a class without a network."""

from __future__ import annotations

import re

from playwright.sync_api import BrowserContext, Route

ELSEWHERE = re.compile(r"^https?://(?!127\.0\.0\.1[:/])")


def refuse_other_hosts(context: BrowserContext) -> list[str]:
    """Let no page of `context` reach another host. Returns the addresses that pages ask for; it grows as they do."""
    asked: list[str] = []

    def refuse(route: Route) -> None:
        asked.append(route.request.url)
        route.abort()

    context.route(ELSEWHERE, refuse)
    return asked
