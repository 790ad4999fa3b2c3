"""What a skill would do, and whether it attacks: read, never run.

`scan_path` takes a folder, a file or an archive and returns a report. Inside, one direction: `intake` turns files into
documents, `views` undo disguises, `languages` find facts, `rules` object to conjunctions of facts, `verdict` sums up.
"""

from clawft.scan.engine import scan_path
from clawft.scan.findings import Coverage, Finding, Gap, Power, Report, Severity, Verdict

__all__ = ["Coverage", "Finding", "Gap", "Power", "Report", "Severity", "Verdict", "scan_path"]
