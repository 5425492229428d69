"""Every command of kl-triage.

Exit 0: answered. 1: usage or input error, one clear line. 2: no answer (inconclusive, infra, refused).
Modules are imported where they are used, so that each command starts at once and none needs torch.
"""

from __future__ import annotations

import logging
import os
import sys

import click

from bot import __version__
from bot.cli import doctor, harvest, judge, ledger, rerun, selftest, setup, show, source, triage


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kl-triage")
def cli() -> None:
    """When a KL test goes red: is it noise, or did the code get worse?"""


for command in (
    show.demo,
    show.serve,
    doctor.doctor,
    harvest.harvest,
    judge.scan,
    judge.decide,
    judge.calibrate,
    source.locate,
    source.bump,
    ledger.ledger,
    rerun.rerun,
    triage.triage,
    selftest.selftest,
    setup.init,
    setup.setup,
    setup.rules,
):
    cli.add_command(command)


def main() -> None:
    """Entry point: usage errors exit 1, since 2 means 'no answer' here."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # retries, which end in a sentence of our own
    try:
        code = cli.main(standalone_mode=False)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "kl-triage"
        click.echo(f"{command}: {error.format_message()} (see {command} --help)", err=True)
        sys.exit(1)
    except click.ClickException as error:
        error.show()
        sys.exit(1)
    except click.Abort:
        sys.exit(130)
    except BrokenPipeError:
        os._exit(141)
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        click.echo(f"kl-triage: {name}{error.strerror or error}", err=True)
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)
