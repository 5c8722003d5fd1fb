"""Kits for plugin authors and tests: executor contract, scripted model (needs the extra `testing`)."""
