"""What the texts need to know beside the verdict; filled by the triage layer, no clock and no I/O here."""

from __future__ import annotations

from dataclasses import dataclass

from bot.source.site import Site


@dataclass(frozen=True, slots=True)
class EvidenceLinks:
    """Addresses on the evidence branch, each by commit SHA, so that they never show other data later."""

    commit: str
    readings_url: str
    chart_url: str


@dataclass(frozen=True, slots=True)
class RedTest:
    """Another red test of the same job, which the verdict says nothing about."""

    test: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class PullLink:
    number: int
    url: str


@dataclass(frozen=True, slots=True)
class BoundMove:
    """One earlier move of the bound, whoever made it; `date` as 2026-03-01, `url` that of the commit.

    `factor` is `new` over the first bound, None where that is 0. `certain`: False where versions before it
    were not read, so that it may have been an earlier commit.
    """

    date: str
    old: float
    new: float
    factor: float | None
    commit: str
    url: str
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Touched:
    """A recent commit to a file that the bound rests on."""

    path: str
    commit: str
    url: str
    date: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """How the bound moved on the default branch, oldest first. `first` None: it could not be read."""

    first: float | None
    moves: tuple[BoundMove, ...] = ()
    versions: int = 0
    """Commits of the file that were found."""
    complete: bool = True
    """The bound was read in each of them."""
    touched: tuple[Touched, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One red test and its investigation: `test` is path::Class.method, SHAs full, minutes machine time."""

    key: str
    """Names the sticky comment: test id and runner class."""
    repo: str
    """owner/name"""
    test: str
    head_sha: str
    bot_version: str
    base_sha: str | None = None
    bound: float | None = None
    """In force at head, in nats."""
    attribute: str | None = None
    site: Site | None = None
    pull: int | None = None
    current_head: str | None = None
    """Where the pull request is now; other than `head_sha`: the result is for an older commit."""
    default_branch: str = "main"
    server_url: str = "https://github.com"
    job_url: str | None = None
    run_urls: tuple[str, ...] = ()
    runner: str | None = None
    hosts: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    runs_done: int = 0
    runs_planned: int = 0
    rounds: int = 0
    gpu_minutes: float | None = None
    budget_minutes: float | None = None
    rules: str | None = None
    """Name and hash of the rule pack."""
    evidence: EvidenceLinks | None = None
    no_evidence_because: str | None = None
    """A few words: why there are no such addresses."""
    proposal_pull: PullLink | None = None
    no_pull_because: str | None = None
    """One sentence: why a proposal led to no pull request."""
    also_red: tuple[RedTest, ...] = ()
    not_measured: tuple[str, ...] = ()
    """One sentence for each thing that should have been measured and was not."""
    from_fork: bool = False
    """Its code runs only as the commit that somebody with write permission named."""
    stopped_in: str | None = None
    """Address of the comment that stopped the measurement."""
    earlier: str | None = None
    """What this commit was judged before, as the comment named it."""
    open_bump: PullLink | None = None
    """A pull request of the bot's that moves this bound and is open, whichever measurement led to it."""
    declined_for_days: int | None = None
    """How long a closed bump is not opened again; None: no promise is made."""
    feedback_url: str | None = None
    ledger: Ledger | None = None
    """None: it was not read."""
    expires: str | None = None
    """Day from which on a bump asks for another look, as 2026-09-01."""

    @property
    def name(self) -> str:
        """Class.method, or the whole id where it has another form."""
        return self.test.rpartition("::")[2] or self.test

    @property
    def bound_name(self) -> str:
        return self.attribute or (self.site.attribute if self.site else "the bound")

    def commit_url(self, sha: str) -> str:
        return f"{self.server_url}/{self.repo}/commit/{sha}"
