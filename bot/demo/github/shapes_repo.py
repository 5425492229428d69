"""GitHub's JSON for accounts, the repository, the App and its installation."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.demo.github.state import Json, User
from bot.demo.github.world import World, node_id

INSTALLATION_ID = 51_000_001
REPOSITORY_ID = 920_000_001
BORN = datetime(2026, 1, 1, tzinfo=UTC)
ACTIONS_APP = "github-actions"


def when(moment: datetime | None) -> str | None:
    return None if moment is None else stamp(moment)


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def user(w: World, who: User) -> Json:
    url = f"{w.api_url}/users/{who.login.replace('[', '%5B').replace(']', '%5D')}"
    return {
        "login": who.login,
        "id": who.id,
        "node_id": node_id("User", who.id),
        "avatar_url": f"{w.base_url}/avatars/{who.id}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{w.base_url}/{who.login.removesuffix('[bot]')}",
        "followers_url": f"{url}/followers",
        "following_url": f"{url}/following{{/other_user}}",
        "gists_url": f"{url}/gists{{/gist_id}}",
        "starred_url": f"{url}/starred{{/owner}}{{/repo}}",
        "subscriptions_url": f"{url}/subscriptions",
        "organizations_url": f"{url}/orgs",
        "repos_url": f"{url}/repos",
        "events_url": f"{url}/events{{/privacy}}",
        "received_events_url": f"{url}/received_events",
        "type": who.type,
        "user_view_type": "public",
        "site_admin": False,
    }


def profile(w: World, who: User) -> Json:
    """GET /users/{username}."""
    return {
        **user(w, who),
        **dict.fromkeys(("name", "company", "blog", "location", "email", "hireable", "bio"), None),
        **dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0),
        "twitter_username": None,
        "created_at": stamp(BORN),
        "updated_at": stamp(BORN),
    }


_TEMPLATES = {
    "archive_url": "{archive_format}{/ref}",
    "assignees_url": "assignees{/user}",
    "blobs_url": "git/blobs{/sha}",
    "branches_url": "branches{/branch}",
    "collaborators_url": "collaborators{/collaborator}",
    "comments_url": "comments{/number}",
    "commits_url": "commits{/sha}",
    "compare_url": "compare/{base}...{head}",
    "contents_url": "contents/{+path}",
    "contributors_url": "contributors",
    "deployments_url": "deployments",
    "downloads_url": "downloads",
    "events_url": "events",
    "forks_url": "forks",
    "git_commits_url": "git/commits{/sha}",
    "git_refs_url": "git/refs{/sha}",
    "git_tags_url": "git/tags{/sha}",
    "hooks_url": "hooks",
    "issue_comment_url": "issues/comments{/number}",
    "issue_events_url": "issues/events{/number}",
    "issues_url": "issues{/number}",
    "keys_url": "keys{/key_id}",
    "labels_url": "labels{/name}",
    "languages_url": "languages",
    "merges_url": "merges",
    "milestones_url": "milestones{/number}",
    "notifications_url": "notifications{?since,all,participating}",
    "pulls_url": "pulls{/number}",
    "releases_url": "releases{/id}",
    "stargazers_url": "stargazers",
    "statuses_url": "statuses/{sha}",
    "subscribers_url": "subscribers",
    "subscription_url": "subscription",
    "tags_url": "tags",
    "teams_url": "teams",
    "trees_url": "git/trees{/sha}",
}


def minimal_repository(w: World) -> Json:
    """The form inside workflow runs."""
    return {
        "id": REPOSITORY_ID,
        "node_id": node_id("Repository", REPOSITORY_ID),
        "name": w.config.repo,
        "full_name": w.config.full_name,
        "private": w.config.private,
        "owner": user(w, w.owner),
        "html_url": w.repo_html,
        "description": None,
        "fork": False,
        "url": w.repo_url,
        **{name: f"{w.repo_url}/{template}" for name, template in _TEMPLATES.items()},
    }


def repository(w: World) -> Json:
    """The form inside pull requests, and most of the full one."""
    pulls = sum(pull.state == "open" for pull in w.state.pulls.values())
    return {
        **minimal_repository(w),
        "git_url": f"git:{w.repo_html.partition(':')[2]}.git",
        "ssh_url": f"git@127.0.0.1:{w.config.full_name}.git",
        "clone_url": f"{w.repo_html}.git",
        "svn_url": w.repo_html,
        "mirror_url": None,
        "homepage": None,
        "language": "Python",
        "license": None,
        "topics": [],
        "visibility": "private" if w.config.private else "public",
        "default_branch": w.config.default_branch,
        **dict.fromkeys(
            ("forks_count", "stargazers_count", "watchers_count", "forks", "watchers", "size"), 0
        ),
        "open_issues_count": pulls,
        "open_issues": pulls,
        **dict.fromkeys(("has_issues", "has_projects", "has_wiki", "has_downloads", "allow_forking"), True),
        **dict.fromkeys(("has_pages", "has_discussions", "archived", "disabled", "is_template"), False),
        "web_commit_signoff_required": False,
        "pushed_at": stamp(BORN),
        "created_at": stamp(BORN),
        "updated_at": stamp(BORN),
    }


def full_repository(w: World, permissions: Json | None) -> Json:
    """GET /repos/{owner}/{repo}; `permissions` are the caller's."""
    more = {} if permissions is None else {"permissions": permissions}
    return {
        **repository(w),
        "subscribers_count": 0,
        "network_count": 0,
        "organization": user(w, w.owner),
        **more,
    }


def app(w: World, slug: str | None = None) -> Json:
    """The installed App, or the one that GitHub's own jobs report as."""
    ours = w.config.app
    name = slug or ours.slug
    return {
        "id": ours.id if name == ours.slug else 15_368,
        "slug": name,
        "client_id": f"Iv1.{name}",
        "node_id": node_id("App", name),
        "owner": user(w, w.owner if name == ours.slug else w.state.user("github", "Organization")),
        "name": name,
        "description": "",
        "external_url": f"{w.base_url}/apps/{name}",
        "html_url": f"{w.base_url}/apps/{name}",
        "created_at": stamp(BORN),
        "updated_at": stamp(BORN),
        "permissions": dict(ours.permissions)
        if name == ours.slug
        else {"checks": "write", "metadata": "read"},
        "events": list(ours.events) if name == ours.slug else [],
    }


def installation(w: World) -> Json:
    base = f"{w.api_url}/app/installations/{INSTALLATION_ID}"
    return {
        "id": INSTALLATION_ID,
        "client_id": f"Iv1.{w.config.app.slug}",
        "account": user(w, w.owner),
        "repository_selection": "selected",
        "access_tokens_url": f"{base}/access_tokens",
        "repositories_url": f"{w.api_url}/installation/repositories",
        "html_url": f"{w.base_url}/organizations/{w.config.owner}/settings/installations/{INSTALLATION_ID}",
        "app_id": w.config.app.id,
        "app_slug": w.config.app.slug,
        "target_id": w.owner.id,
        "target_type": "Organization",
        "permissions": dict(w.config.app.granted),
        "events": list(w.config.app.events),
        "created_at": stamp(BORN),
        "updated_at": stamp(BORN),
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "suspended_by": None,
        "suspended_at": None,
    }


def permission(w: World, who: User, role: str) -> Json:
    """GET /collaborators/{username}/permission. The old `permission` folds maintain and triage."""
    old = {"maintain": "write", "triage": "read"}.get(role, role)
    level = ["none", "read", "triage", "write", "maintain", "admin"].index(role)
    names = ("pull", "triage", "push", "maintain", "admin")
    granted = {name: level > index for index, name in enumerate(names)}
    return {
        "permission": old,
        "role_name": role,
        "user": {**user(w, who), "permissions": granted, "role_name": role},
    }
