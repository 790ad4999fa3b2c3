"""Install skills and plugins: sources, archives, the lock file, the transaction, publishing."""
