"""Configuration (spec page 8): read with origins, checked, and changed without losing comments."""
