"""Mechanical gates: pure arithmetic over ledger and report (spec page 4)."""
