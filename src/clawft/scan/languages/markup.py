from clawft.scan.documents import Document
from clawft.scan.facts import Analysis

__all__ = ["analyse"]


def analyse(document: Document) -> Analysis:
    return Analysis([], [])
