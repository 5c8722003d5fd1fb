"""The documents that touchline reads and writes, as data; no module here does I/O."""
