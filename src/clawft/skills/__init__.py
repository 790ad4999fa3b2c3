"""Find, parse and render skills, agents, commands and hooks; and the skills that come with weft."""
