"""Measurements of touchline against floors of the same machine and the same run; `python -m bench`."""
