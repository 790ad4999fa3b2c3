"""What is typed, shown without moving the cursor: for screen readers and terminals that can do nothing."""

from collections.abc import Iterator
from contextlib import contextmanager

from prompt_toolkit.buffer import Buffer

from clawft.cli.output import clean
from clawft.repl.screen import Screen

__all__ = ["echoing"]


@contextmanager
def echoing(buffer: Buffer, screen: Screen, prompt: str, *, hidden: bool = False) -> Iterator[None]:
    """Write the prompt, then what is added at the end; after any other change the whole line again.

    Of what is `hidden` nothing is written.
    """
    shown = ""
    screen.write(prompt)

    def show(_: object) -> None:
        nonlocal shown
        text = "" if hidden else clean(buffer.text)
        if text.startswith(shown):
            screen.write(text[len(shown) :])
        elif shown.startswith(text) and "\n" not in shown[len(text) :]:
            screen.write("\b \b" * (len(shown) - len(text)))
        else:
            screen.write(f"\n{prompt}{text}")
        shown = text

    buffer.on_text_changed += show
    try:
        yield
    finally:
        buffer.on_text_changed -= show
        screen.write("\n")
