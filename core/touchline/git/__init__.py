"""Every git call of touchline (spec page 1, "Git facts"; DESIGN.md, "git/").

The room uses git's plumbing through the process host throughout. GitPython is not used here: its calls would
bypass the host's bounds and the isolation below, it cannot read SHA-256 or reftable repositories, and its
import alone takes a large part of the time that a turn's git facts may cost.
"""
