"""What prose asks of the agent or the reader: orders as facts.

`segments` cuts Markdown into blocks, `mention` tells what is only shown, and the grammars (one file each) find orders
in sentences: what is to be done, to what, where it goes, and who must not know.
"""

from clawft.scan.instructions.fences import find_code_language, is_command, strip_prompts
from clawft.scan.instructions.hidden import find_hidden_elements
from clawft.scan.instructions.mention import is_about_attacks, is_mention
from clawft.scan.instructions.orders import find_orders
from clawft.scan.instructions.remarks import find_remarks
from clawft.scan.instructions.segments import Part, split_markdown
from clawft.scan.instructions.words import find_data

__all__ = [
    "Part",
    "find_code_language",
    "find_data",
    "find_hidden_elements",
    "find_orders",
    "find_remarks",
    "is_about_attacks",
    "is_command",
    "is_mention",
    "split_markdown",
    "strip_prompts",
]
