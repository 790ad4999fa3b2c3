"""Archives: opened safely and written the same each time; folders put into place at once."""
