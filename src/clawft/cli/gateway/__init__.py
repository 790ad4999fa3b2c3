"""`weft gateway`."""

import click

from clawft.cli.root import LazyGroup

__all__ = ["command"]


@click.group(
    "gateway",
    cls=LazyGroup,
    modules={"status": "clawft.cli.gateway.status"},
    aliases={},
    invoke_without_command=True,
    subcommand_metavar="[status]",
)
@click.option("--check", is_flag=True, help="Say what would run, and who may write; start nothing.")
@click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="json: one line of JSON for each thing that happens.",
)
@click.pass_context
def command(ctx: click.Context, check: bool, output: str) -> int | None:
    """Run the channels of plugins: what people write there is answered, until Ctrl-C.

    Which channels run, and who may write there, stands in the config: see `weft help gateway`. Each message that is
    accepted becomes a run that survives; a gateway that is killed goes on where it was when it is started again.
    """
    if ctx.invoked_subcommand is not None:
        return None
    from clawft.cli.gateway._run import check_channels, run_channels

    return check_channels(as_json=output == "json") if check else run_channels(as_json=output == "json")
