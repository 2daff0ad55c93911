"""How commands talk to people: options, tables, progress, JSON."""
