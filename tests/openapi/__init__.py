"""GitHub's published OpenAPI description, cut to what the stand-in serves, and a checker built on it."""
