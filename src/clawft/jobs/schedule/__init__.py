"""Jobs that run by themselves, on a schedule. The database of runs keeps them, and its workers start what is due."""
