"""Every git call of touchline (DESIGN.md, "git/")."""
