"""Flask: the webhook, health, and a plain page of what was decided."""

from bot.web.app import create_app

__all__ = ["create_app"]
