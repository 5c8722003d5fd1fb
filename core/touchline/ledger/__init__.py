"""The run ledger on disk: store, lock, identity of findings, epic quarantine (spec page 3)."""
