"""What agents remember, in one SQLite file."""
