"""A report as others read it: JSON, SARIF, a page for browsers; and the page of a rule. Functions of reports."""
