"""A report as others read it: JSON, SARIF, a page for browsers, and the page of a rule. Pure functions of reports."""

from clawft.scan.reports.html import render_html
from clawft.scan.reports.json import report_json, rule_json
from clawft.scan.reports.rules import find_rule, render_rule, render_rules
from clawft.scan.reports.sarif import render_sarif

__all__ = ["find_rule", "render_html", "render_rule", "render_rules", "render_sarif", "report_json", "rule_json"]
