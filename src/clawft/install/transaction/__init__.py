"""The install transaction: skills installed, updated and removed, all or nothing, and checked against the lock."""
