"""For drivers of agent command lines: what every one of them does the same way. Public beside `touchline.api`.

`fields` reads untrusted JSON, `reading` reads a turn's program to its end, `failures` names an end that gave no
result, `readiness` judges a version. A driver is free to use none of it; the contract is `touchline.api` alone.
"""
