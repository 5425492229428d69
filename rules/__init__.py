"""Rule packs: what KL tests look like in a project, where their bounds live, which runner they need."""

from rules.loader import PackErrors, check, load_named, load_pack, pack_names, repository_pack
from rules.pack import FormRule, Mode, Pack, RepositoryConfig

__all__ = [
    "FormRule",
    "Mode",
    "Pack",
    "PackErrors",
    "RepositoryConfig",
    "check",
    "load_named",
    "load_pack",
    "pack_names",
    "repository_pack",
]
