"""Where strangers' words meet the machine: processes and connections, bounded."""
