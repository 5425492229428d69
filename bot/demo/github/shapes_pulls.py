"""GitHub's JSON for pull requests, issues, comments, reactions, labels and check runs."""

from __future__ import annotations

from bot.demo.github.diff import diff
from bot.demo.github.shapes_repo import REPOSITORY_ID, app, repository, stamp, user, when
from bot.demo.github.state import CheckRun, Comment, Issue, Json, Label, LabelEvent, Pull, Reaction, User
from bot.demo.github.world import World, node_id, quoted

CONTENTS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")


def association(w: World, who: User) -> str:
    """Not a permission: a writer shows as CONTRIBUTOR here, as private members do on GitHub."""
    known = {login.casefold(): person.role for login, person in w.config.users.items()}
    role = known.get(who.login.casefold(), "none")
    return {"admin": "MEMBER", "maintain": "MEMBER", "write": "CONTRIBUTOR"}.get(role, "NONE")


def label(w: World, found: Label) -> Json:
    return {
        "id": found.id,
        "node_id": node_id("Label", found.id),
        "url": f"{w.repo_url}/labels/{quoted(found.name)}",
        "name": found.name,
        "description": "",
        "color": found.color,
        "default": False,
    }


def pull_simple(w: World, pull: Pull) -> Json:
    """The form of lists."""
    url = f"{w.repo_url}/pulls/{pull.number}"
    issue = f"{w.repo_url}/issues/{pull.number}"
    html = f"{w.repo_html}/pull/{pull.number}"
    statuses = f"{w.repo_url}/statuses/{pull.head_sha}"
    links = {
        "self": url,
        "html": html,
        "issue": issue,
        "comments": f"{issue}/comments",
        "review_comments": f"{url}/comments",
        "review_comment": f"{w.repo_url}/pulls/comments{{/number}}",
        "commits": f"{url}/commits",
        "statuses": statuses,
    }
    return {
        "url": url,
        "id": pull.id,
        "node_id": node_id("PullRequest", pull.id),
        "html_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "issue_url": issue,
        "commits_url": links["commits"],
        "review_comments_url": links["review_comments"],
        "review_comment_url": links["review_comment"],
        "comments_url": links["comments"],
        "statuses_url": statuses,
        "number": pull.number,
        "state": pull.state,
        "locked": False,
        "title": pull.title,
        "user": user(w, pull.user),
        "body": pull.body,
        "labels": [label(w, found) for found in pull.labels],
        "milestone": None,
        "active_lock_reason": None,
        "created_at": stamp(pull.created_at),
        "updated_at": stamp(pull.updated_at),
        "closed_at": when(pull.closed_at),
        "merged_at": when(pull.merged_at),
        "merge_commit_sha": pull.merge_sha,
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [user(w, asked) for asked in pull.reviewers],
        "requested_teams": [{**team(w, slug), "parent": None} for slug in pull.teams],
        "head": _side(w, pull.head_ref, pull.head_sha, pull.head_repository),
        "base": _side(w, pull.base_ref, pull.base_sha),
        "_links": {name: {"href": href} for name, href in links.items()},
        "author_association": association(w, pull.user),
        "auto_merge": None,
        "draft": pull.draft,
    }


def pull_full(w: World, pull: Pull) -> Json:
    base = w.git.merge_base(pull.base_sha, pull.head_sha)
    files = diff(w.git, base, pull.head_sha)
    state = {True: "draft" if pull.draft else "clean", False: "dirty", None: "unknown"}[pull.mergeable]
    return {
        **pull_simple(w, pull),
        "requested_teams": [team(w, slug) for slug in pull.teams],
        "merged": pull.merged_at is not None,
        "mergeable": pull.mergeable,
        "rebaseable": pull.mergeable,
        "mergeable_state": state,
        "merged_by": user(w, pull.merged_by) if pull.merged_by else None,
        "comments": len(w.state.comments_of(pull.number)),
        "review_comments": 0,
        "maintainer_can_modify": pull.maintainer_can_modify,
        "commits": w.git.count(base, pull.head_sha) if base else 0,
        "additions": sum(f.additions for f in files),
        "deletions": sum(f.deletions for f in files),
        "changed_files": len(files),
    }


def _side(w: World, ref: str, sha: str, fork: str | None = None) -> Json:
    owner = w.owner if fork is None else w.state.user(fork.partition("/")[0])
    shape = repository(w)
    if fork is not None:
        shape |= {"full_name": fork, "fork": True, "owner": user(w, owner)}
    return {"label": f"{owner.login}:{ref}", "ref": ref, "sha": sha, "user": user(w, owner), "repo": shape}


def pull_minimal(w: World, pull: Pull) -> Json:
    """The form inside runs and checks."""
    repo = {"id": REPOSITORY_ID, "url": w.repo_url, "name": w.config.repo}
    return {
        "id": pull.id,
        "number": pull.number,
        "url": f"{w.repo_url}/pulls/{pull.number}",
        "head": {"ref": pull.head_ref, "sha": pull.head_sha, "repo": repo},
        "base": {"ref": pull.base_ref, "sha": pull.base_sha, "repo": repo},
    }


def pulls_at(w: World, sha: str) -> list[Json]:
    """Open pull requests whose head is this commit; as on GitHub none of a fork."""
    found = [p for p in w.state.pulls.values() if p.head_repository is None and p.state == "open"]
    return [pull_minimal(w, p) for p in found if p.head_sha == sha]


def team(w: World, slug: str) -> Json:
    """The short form, without a parent."""
    url = f"{w.base_url}/organizations/{w.owner.id}/team/{slug}"
    return {
        "id": sum(slug.encode()),
        "node_id": node_id("Team", slug),
        "name": slug,
        "slug": slug,
        "description": None,
        "privacy": "closed",
        "permission": "push",
        "url": url,
        "html_url": f"{w.base_url}/orgs/{w.owner.login}/teams/{slug}",
        "members_url": f"{url}/members{{/member}}",
        "repositories_url": f"{url}/repos",
        "type": "organization",
    }


def label_event(w: World, found: LabelEvent) -> Json:
    return {
        "id": found.id,
        "node_id": node_id("LabeledEvent", found.id),
        "url": f"{w.repo_url}/issues/events/{found.id}",
        "actor": user(w, found.actor),
        "event": found.event,
        "commit_id": None,
        "commit_url": None,
        "created_at": stamp(found.at),
        "performed_via_github_app": None,
        "label": {"name": found.label.name, "color": found.label.color},
    }


def issue(w: World, found: Issue | Pull) -> Json:
    """An issue, or a pull request as one."""
    if isinstance(found, Pull):
        return _pull_as_issue(w, found)
    html = f"{w.repo_html}/issues/{found.number}"
    return {
        **_issue(w, found, html),
        "id": found.number + 600_000_000,
        "node_id": node_id("Issue", found.number),
        "comments": 0,
    }


def _pull_as_issue(w: World, pull: Pull) -> Json:
    html = f"{w.repo_html}/pull/{pull.number}"
    return {
        **_issue(w, pull, html),
        "id": pull.id + 500_000_000,
        "node_id": node_id("PullRequest", pull.id),
        "comments": len(w.state.comments_of(pull.number)),
        "draft": pull.draft,
        "pull_request": {
            "url": f"{w.repo_url}/pulls/{pull.number}",
            "html_url": html,
            "diff_url": f"{html}.diff",
            "patch_url": f"{html}.patch",
            "merged_at": when(pull.merged_at),
        },
    }


def _issue(w: World, pull: Issue | Pull, html: str) -> Json:
    url = f"{w.repo_url}/issues/{pull.number}"
    return {
        "url": url,
        "repository_url": w.repo_url,
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "timeline_url": f"{url}/timeline",
        "html_url": html,
        "number": pull.number,
        "state": pull.state,
        "state_reason": None,
        "title": pull.title,
        "body": pull.body,
        "user": user(w, pull.user),
        "labels": [label(w, found) for found in pull.labels],
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "locked": False,
        "active_lock_reason": None,
        "created_at": stamp(pull.created_at),
        "updated_at": stamp(pull.updated_at),
        "closed_at": when(pull.closed_at),
        "author_association": association(w, pull.user),
        "reactions": rollup(f"{url}/reactions", []),
        "performed_via_github_app": None,
    }


def comment(w: World, found: Comment) -> Json:
    url = f"{w.repo_url}/issues/comments/{found.id}"
    return {
        "id": found.id,
        "node_id": node_id("IssueComment", found.id),
        "url": url,
        "html_url": f"{w.repo_html}/pull/{found.issue}#issuecomment-{found.id}",
        "issue_url": f"{w.repo_url}/issues/{found.issue}",
        "user": user(w, found.user),
        "created_at": stamp(found.created_at),
        "updated_at": stamp(found.updated_at),
        "author_association": association(w, found.user),
        "body": found.body,
        "reactions": rollup(f"{url}/reactions", found.reactions),
        "performed_via_github_app": app(w) if found.user == w.bot else None,
    }


def rollup(url: str, reactions: list[Reaction]) -> Json:
    counts = {content: sum(r.content == content for r in reactions) for content in CONTENTS}
    return {"url": url, "total_count": len(reactions), **counts}


def reaction(w: World, found: Reaction) -> Json:
    return {
        "id": found.id,
        "node_id": node_id("Reaction", found.id),
        "user": user(w, found.user),
        "content": found.content,
        "created_at": stamp(found.created_at),
    }


def check_run(w: World, found: CheckRun) -> Json:
    url = f"{w.repo_url}/check-runs/{found.id}"
    html = f"{w.repo_html}/runs/{found.id}"
    output = {name: found.output.get(name) for name in ("title", "summary", "text")}
    return {
        "id": found.id,
        "node_id": node_id("CheckRun", found.id),
        "name": found.name,
        "head_sha": found.head_sha,
        "external_id": found.external_id or "",
        "url": url,
        "html_url": html,
        "details_url": found.details_url or html,
        "status": found.status,
        "conclusion": found.conclusion,
        "started_at": when(found.started_at),
        "completed_at": when(found.completed_at),
        "output": {
            **output,
            "annotations_count": len(found.output.get("annotations", [])),
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": found.suite_id},
        "app": app(w, found.app),
        "pull_requests": pulls_at(w, found.head_sha),
    }
