"""`weft skills install REF...`: skills from wherever they are, looked at first; nothing of them runs."""

from typing import Any

import click

from clawft.cli.options import format_option, open_here
from clawft.cli.skills._targets import allow_options, scope_choice, to_option
from clawft.supply.scanning import Scans, without_collecting

__all__ = ["command"]


@click.command("install")
@click.argument("references", nargs=-1, required=True, metavar="REF...")
@scope_choice
@to_option
@click.option("--skill", "skills", multiple=True, metavar="NAME", help="Which, where there are several (repeatable).")
@click.option("--all", "every", is_flag=True, help="Every skill of a place that holds several.")
@click.option("--registry", default="", metavar="NAME", help="Which registry to ask, in the place of the default.")
@click.option("--digest", default="", metavar="sha256:…", help="Only if it, or its archive, has this digest.")
@click.option("--require-signature", "signed", is_flag=True, help="Only what a publisher whom you trust signed.")
@click.option("--dry-run", is_flag=True, help="Look at them, and install nothing.")
@click.option("--force", is_flag=True, help="Replace a folder that is not weft's, or a skill that was edited.")
@allow_options
@click.option("--yes", "-y", is_flag=True, help="Install and approve them as they are, without being asked.")
@format_option
def command(references: tuple[str, ...], **given: Any) -> int:
    """Install skills: each is downloaded, checked and scanned; you see what it could do, and are asked.

    REF is a name in a registry (slug, @owner/slug, slug@1.2.3, REGISTRY:slug), a repository (owner/repo, any address of
    git, with #ref), an address of an archive or of a site that offers skills, or a path. Nothing of a skill runs, and
    either all of them are installed or none. A version that you name is not held: weft skills pin NAME --version does
    that. See: weft help install
    """
    app = open_here()
    count = max(len(references), 4 if given["every"] else len(given["skills"]))
    with without_collecting(), Scans(count, app.scan_dir) as scans:
        from clawft.cli.skills._installing import Asked, install  # takes long: the scanner is loaded meanwhile

        return install(app, references, Asked(**given), scans)
