"""The words and pictures: verdict in; comment, check run, pull request, chart and terminal text out. Pure."""

from bot.report import chart, check, comment, evidence, pull_request, terminal
from bot.report.facts import Case, EvidenceLinks, PullLink, RedTest
from bot.report.markers import BUMP, COMMENT, find_marker

__all__ = [
    "BUMP",
    "COMMENT",
    "Case",
    "EvidenceLinks",
    "PullLink",
    "RedTest",
    "chart",
    "check",
    "comment",
    "evidence",
    "find_marker",
    "pull_request",
    "terminal",
]
