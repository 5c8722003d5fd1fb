"""The executor pebble: a very small agent CLI and its driver for touchline."""
