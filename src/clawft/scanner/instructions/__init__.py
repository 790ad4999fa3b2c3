"""Instructions in prose: what is asked of the agent or the reader, as facts.

`segments` cuts Markdown into blocks, `mention` tells what is only shown, and the grammars (one file each) find orders
in sentences: what is to be done, to what, where it goes, and who must not know.
"""

from clawft.scanner.instructions.blocks import (
    MarkdownPart,
    find_code_language,
    find_hidden_elements,
    find_remarks,
    is_command,
    split_markdown,
    strip_prompts,
)
from clawft.scanner.instructions.context import is_about_attacks, is_mention
from clawft.scanner.instructions.orders import find_orders
from clawft.scanner.instructions.patterns import find_data

__all__ = [
    "MarkdownPart", "find_code_language", "find_data", "find_hidden_elements", "find_orders", "find_remarks",
    "is_about_attacks", "is_command", "is_mention", "split_markdown", "strip_prompts",
]  # fmt: skip
