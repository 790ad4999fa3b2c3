"""Confinement of untrusted code: processes and connections, bounded."""
