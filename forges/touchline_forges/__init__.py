"""The forge drivers of touchline (spec page 6): each imports `touchline.api` and nothing else of the core."""
