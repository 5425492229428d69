"""Rule packs: what KL tests look like in a project, where their bounds live, which runner they need."""

from rules.bounds import BoundSpan
from rules.entries import FormRule
from rules.errors import PackErrors
from rules.loader import check, load_named, load_pack, pack_names, repository_pack
from rules.pack import Pack
from rules.policy import load_policy
from rules.repository import Mode, RepositoryConfig

__all__ = [
    "BoundSpan",
    "FormRule",
    "Mode",
    "Pack",
    "PackErrors",
    "RepositoryConfig",
    "check",
    "load_named",
    "load_pack",
    "load_policy",
    "pack_names",
    "repository_pack",
]
