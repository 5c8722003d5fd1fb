"""Verification of a change: tests, judges, exerciser, one report (spec pages 4 and 5)."""
