"""The scripted executor for touchline."""
