"""Sources: wherever a skill lives, resolved exactly, downloaded within bounds and checked."""
