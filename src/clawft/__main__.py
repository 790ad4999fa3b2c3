"""`python -m clawft` is `weft`."""

from clawft.cli import main

main()
