"""Lock files: what was installed, from where, and that it is still that. Ours, and those of other installers."""
