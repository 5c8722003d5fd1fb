"""The scenarios of the executor contract, by subject (spec page 2, "Contract kit and real CLIs")."""
