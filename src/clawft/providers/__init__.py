"""Models: one file per wire, and what answers without one."""
