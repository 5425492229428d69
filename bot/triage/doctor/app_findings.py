"""Is the App as the bot needs it? Values of `bot.github.inspection` in, findings out; pure."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Sequence
from typing import Final
from urllib.parse import SplitResult, urlsplit

from bot.github.app import EVENTS, PERMISSIONS, settings_page, web_address
from bot.github.inspection import AppSeen, DeliverySeen, HookSeen, InstallationSeen
from bot.report.findings import Finding, Level

APP: Final = "GitHub App"
WEBHOOK: Final = "Webhook"
_HTML_APPS: Final = ("/apps/", "/github-apps/")


def of_app(app: AppSeen) -> list[Finding]:
    """Its key, which it was asked with, and what it asks of whoever installs it."""
    page = app_page(app)
    found = [Finding(Level.OK, APP, f"The key is that of the App {app.slug} ({app.html_url}).")]
    lacking = [wanted for wanted in PERMISSIONS if not wanted.is_covered(app.permissions)]
    for wanted in lacking:
        sentence = f"The App does not ask for {wanted.title}: {wanted.level}, needed to {wanted.why}."
        fix = f"set it on {page}/permissions; an owner of each account must approve it then"
        found.append(Finding(Level.WRONG, APP, sentence, fix))
    unheard = [wanted for wanted in EVENTS if wanted.event not in app.events]
    for event in unheard:
        sentence = f"The App does not get {event.event} events ({event.why})."
        found.append(Finding(Level.WRONG, APP, sentence, f"subscribe to them on {page}/permissions"))
    if not lacking and not unheard:
        found.append(Finding(Level.OK, APP, "It asks for every permission and event it needs."))
    return found


def of_installations(app: AppSeen, seen: Sequence[InstallationSeen]) -> list[Finding]:
    """Who installed the App, and what they have not approved yet."""
    if not seen:
        fix = f"install it at {app.html_url}/installations/new"
        return [Finding(Level.WRONG, APP, "The App is not installed on any account.", fix)]
    return [finding for installation in seen for finding in _of_installation(app, installation)]


def _of_installation(app: AppSeen, seen: InstallationSeen) -> list[Finding]:
    if seen.suspended:
        sentence = f"{seen.account} has suspended the App."
        return [Finding(Level.WRONG, APP, sentence, f"an owner can lift that at {seen.html_url}")]
    # What the App itself does not ask for is told there, once.
    lacking = [p for p in PERMISSIONS if p.is_covered(app.permissions) and not p.is_covered(seen.permissions)]
    if not lacking:
        return [Finding(Level.OK, APP, f"It is installed on {seen.account} with all that it asks for.")]
    return [
        Finding(
            Level.WRONG,
            APP,
            f"{seen.account} has not approved {wanted.title}: {wanted.level}, needed to {wanted.why}.",
            f"an owner must approve it at {seen.html_url}",
        )
        for wanted in lacking
    ]


def of_hook(hook: HookSeen, page: str, about: str = WEBHOOK) -> list[Finding]:
    """`page`: where the webhook is changed."""
    fix = f"set it on {page}"
    wrong: list[Finding] = []
    parts = _parts(hook.url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return [Finding(Level.WRONG, about, "It has no address, so no event arrives.", fix)]
    if _is_this_machine(parts.hostname) and not _is_this_machine(urlsplit(page).hostname or ""):
        sentence = f"GitHub cannot reach {parts.hostname}: that is GitHub's own machine to GitHub."
        wrong.append(Finding(Level.WRONG, about, sentence, fix))
    if not leads_to_bot(hook):
        sentence = f"The address {hook.url} does not end in /webhook, where the bot takes events."
        wrong.append(Finding(Level.WARNING, about, sentence, fix))
    if hook.content_type != "json":
        sentence = f"The content type is '{hook.content_type}'; the bot takes application/json alone."
        wrong.append(Finding(Level.WRONG, about, sentence, fix))
    if not hook.has_secret:
        sentence = "It has no secret, so every delivery is refused as unsigned."
        wrong.append(Finding(Level.WRONG, about, sentence, f"{fix}: that of KL_TRIAGE_WEBHOOK_SECRET"))
    if not hook.checks_certificate and parts.scheme == "https":
        sentence = "GitHub does not check the certificate of the address."
        wrong.append(Finding(Level.WARNING, about, sentence, fix))
    return wrong or [Finding(Level.OK, about, f"Signed JSON goes to {hook.url}.")]


def leads_to_bot(hook: HookSeen) -> bool:
    return _parts(hook.url).path.rstrip("/").endswith("/webhook")


def of_deliveries(seen: Sequence[DeliverySeen]) -> list[Finding]:
    """Newest first. Wrong where the newest failed; older failures are made up for by the sweep."""
    failed = [delivery for delivery in seen if not delivery.arrived]
    if not seen:
        return [Finding(Level.OK, WEBHOOK, "Nothing has been delivered yet.")]
    if not failed:
        return [Finding(Level.OK, WEBHOOK, f"The last {len(seen)} deliveries arrived.")]
    codes = Counter(delivery.status_code for delivery in failed)
    told = ", ".join(f"{_answer(code)} ({count})" for code, count in codes.most_common(5))
    level = Level.WARNING if seen[0].arrived else Level.WRONG
    sentence = f"{len(failed)} of the last {len(seen)} deliveries failed: {told}."
    return [Finding(level, WEBHOOK, sentence, _delivery_fix(codes.most_common(1)[0][0]))]


def _answer(code: int) -> str:
    return f"HTTP {code}" if code else "no answer"


def _delivery_fix(code: int) -> str:
    if code == 401:
        return "KL_TRIAGE_WEBHOOK_SECRET must be the secret of the App's webhook"
    if code in (0, 404, 502, 503, 504):
        return "the address must lead to the running bot: look at /healthz there from outside"
    if code == 400:
        return "the webhook's content type must be application/json"
    return "the bot's log says why"


def app_page(app: AppSeen) -> str:
    """Where its owner changes the App; the web address is that of its own page."""
    web = web_address(app.html_url)
    for part in _HTML_APPS:
        before, found, _ = app.html_url.partition(part)
        if found:
            web = before
    return settings_page(web, app.organisation, app.slug)


def _parts(url: str) -> SplitResult:
    """Empty for what is no address."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
