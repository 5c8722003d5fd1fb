"""Plugin discovery (stevedore) and hooks (pluggy) (spec page 8)."""
