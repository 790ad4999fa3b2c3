"""Folders to a Catalog: where to look, what is there, what it requires."""
