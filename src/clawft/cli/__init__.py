"""The command line: one file per command, loaded when it is run. `main` translates errors to exit codes."""

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run `weft`. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused, 130 interrupted."""
    import click

    from clawft.cli.output import show_error
    from clawft.cli.root import weft
    from clawft.errors import ClawftError

    try:
        code = weft.main(standalone_mode=False, prog_name="weft") or 0
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except ClawftError as error:
        show_error(error)
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        code = 130
    except BrokenPipeError:  # the reader has seen enough, as in `weft skills list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)
