"""What other programs are told: the JSON contracts that the command line and the daemon share."""
