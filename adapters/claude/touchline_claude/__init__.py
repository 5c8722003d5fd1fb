"""The claude executor for touchline."""
