"""Finding secrets before anything is committed or published, and keeping them out of texts (spec page 5, "Secrets")."""
