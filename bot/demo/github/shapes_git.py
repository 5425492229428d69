"""GitHub's JSON for git objects and files."""

from __future__ import annotations

import base64

from bot.demo.github.diff import FileDiff
from bot.demo.github.git import Commit, Entry, Person
from bot.demo.github.shapes_repo import stamp, user
from bot.demo.github.state import Json
from bot.demo.github.world import World, node_id, quoted

NOREPLY = "users.noreply.github.com"
MAX_INLINE = 1 << 20
"""Larger files come without content, as on GitHub; ask for the raw media type."""
UNSIGNED = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}


def ref(w: World, name: str, sha: str, kind: str) -> Json:
    return {
        "ref": name,
        "node_id": node_id("Ref", name),
        "url": f"{w.repo_url}/git/{quoted(name)}",
        "object": {"sha": sha, "type": kind, "url": f"{w.repo_url}/git/{kind}s/{sha}"},
    }


def person(who: Person) -> Json:
    return {"name": who.name, "email": who.email, "date": stamp(who.date)}


def git_commit(w: World, commit: Commit) -> Json:
    """The form of the git data API."""
    return {
        "sha": commit.sha,
        "node_id": node_id("Commit", commit.sha),
        "url": f"{w.repo_url}/git/commits/{commit.sha}",
        "html_url": f"{w.repo_html}/commit/{commit.sha}",
        "author": person(commit.author),
        "committer": person(commit.committer),
        "tree": tree_link(w, commit.tree),
        "message": commit.message,
        "parents": [
            {"sha": p, "url": f"{w.repo_url}/git/commits/{p}", "html_url": f"{w.repo_html}/commit/{p}"}
            for p in commit.parents
        ],
        "verification": dict(UNSIGNED),
    }


def tree_link(w: World, sha: str) -> Json:
    return {"sha": sha, "url": f"{w.repo_url}/git/trees/{sha}"}


def commit(w: World, found: Commit, files: list[FileDiff] | None = None) -> Json:
    """The form of the commits API; with `files` that of one commit."""
    out: Json = {
        "sha": found.sha,
        "node_id": node_id("Commit", found.sha),
        "url": f"{w.repo_url}/commits/{found.sha}",
        "html_url": f"{w.repo_html}/commit/{found.sha}",
        "comments_url": f"{w.repo_url}/commits/{found.sha}/comments",
        "commit": {
            "url": f"{w.repo_url}/git/commits/{found.sha}",
            "author": person(found.author),
            "committer": person(found.committer),
            "message": found.message,
            "tree": tree_link(w, found.tree),
            "comment_count": 0,
            "verification": dict(UNSIGNED),
        },
        "author": _account(w, found.author.email),
        "committer": _account(w, found.committer.email),
        "parents": [
            {"sha": p, "url": f"{w.repo_url}/commits/{p}", "html_url": f"{w.repo_html}/commit/{p}"}
            for p in found.parents
        ],
    }
    if files is not None:
        added, removed = sum(f.additions for f in files), sum(f.deletions for f in files)
        out["stats"] = {"additions": added, "deletions": removed, "total": added + removed}
        out["files"] = [file_diff(w, f, found.sha) for f in files]
    return out


def _account(w: World, email: str) -> Json | None:
    """The account behind an address; None for one GitHub does not know."""
    name, _, host = email.partition("@")
    login = name.rpartition("+")[2]
    known = w.state.users.get(login.casefold()) if host == NOREPLY else None
    return user(w, known) if known else None


def noreply(w: World, login: str, type_: str = "User") -> str:
    return f"{w.state.user(login, type_).id}+{login}@{NOREPLY}"


def file_diff(w: World, file: FileDiff, sha: str) -> Json:
    path = quoted(file.path)
    out: Json = {
        "sha": file.sha,
        "filename": file.path,
        "status": file.status,
        "additions": file.additions,
        "deletions": file.deletions,
        "changes": file.additions + file.deletions,
        "blob_url": f"{w.repo_html}/blob/{sha}/{path}",
        "raw_url": f"{w.repo_html}/raw/{sha}/{path}",
        "contents_url": f"{w.repo_url}/contents/{path}?ref={sha}",
    }
    if file.patch is not None:
        out["patch"] = file.patch
    if file.previous is not None:
        out["previous_filename"] = file.previous
    return out


def tree(w: World, sha: str, entries: list[Entry]) -> Json:
    items = []
    for entry in entries:
        item: Json = {"path": entry.path, "mode": entry.mode, "type": entry.type, "sha": entry.sha}
        if entry.size is not None:
            item["size"] = entry.size
        if entry.type != "commit":
            item["url"] = f"{w.repo_url}/git/{entry.type}s/{entry.sha}"
        items.append(item)
    return {**tree_link(w, sha), "tree": items, "truncated": False}


def blob(w: World, sha: str, data: bytes) -> Json:
    return {
        "sha": sha,
        "node_id": node_id("Blob", sha),
        "url": f"{w.repo_url}/git/blobs/{sha}",
        "size": len(data),
        "content": encoded(data),
        "encoding": "base64",
    }


def encoded(data: bytes) -> str:
    """Base64 in lines of 60, as GitHub writes it."""
    text = base64.b64encode(data).decode()
    return "".join(text[i : i + 60] + "\n" for i in range(0, len(text), 60))


_KINDS = {"tree": "dir", "commit": "submodule"}


def content(w: World, entry: Entry, path: str, where: str) -> Json:
    """What all kinds of contents have; `where` is the branch or SHA asked for."""
    url = f"{w.repo_url}/contents/{quoted(path)}?ref={quoted(where)}"
    html = f"{w.repo_html}/{'tree' if entry.type == 'tree' else 'blob'}/{quoted(where)}/{quoted(path)}"
    git = None if entry.type == "commit" else f"{w.repo_url}/git/{entry.type}s/{entry.sha}"
    raw = f"{w.repo_html}/raw/{quoted(where)}/{quoted(path)}" if entry.type == "blob" else None
    return {
        "name": path.rpartition("/")[2],
        "path": path,
        "sha": entry.sha,
        "size": entry.size or 0,
        "url": url,
        "html_url": html,
        "git_url": git,
        "download_url": raw,
        "type": "symlink" if entry.mode == "120000" else _KINDS.get(entry.type, "file"),
        "_links": {"self": url, "git": git, "html": html},
    }


def file_content(w: World, entry: Entry, path: str, where: str, data: bytes) -> Json:
    small = len(data) <= MAX_INLINE
    return {
        **content(w, entry, path, where),
        "content": encoded(data) if small else "",
        "encoding": "base64" if small else "none",
    }
