"""Publishing a run: which forge, the branch, commits, the draft, its text, the end (spec pages 5 and 6)."""
