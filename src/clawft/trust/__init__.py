"""Decide what may run: states, approvals, permissions, the audit log, signatures."""
