"""Rule packs: what KL tests look like in a project, where their bounds live, which runner they need."""

from rules.errors import PackErrors
from rules.loader import check, load_named, load_pack, pack_names, repository_pack
from rules.pack import FormRule, Mode, Pack, RepositoryConfig
from rules.policy import load_policy

__all__ = [
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
