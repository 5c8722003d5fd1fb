"""The grok executor for touchline."""
