"""The JSON contracts that the command line and the daemon share."""
