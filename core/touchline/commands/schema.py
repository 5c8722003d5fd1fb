"""`touchline schema` (spec page 8): the JSON Schema of every document that others read or write."""

from __future__ import annotations

import click

DOCUMENTS = {
    "config": ("touchline.documents.settings", "Settings"),
    "decision": ("touchline.documents.decision", "Decision"),
    "ledger": ("touchline.documents.ledger", "Ledger"),
    "report": ("touchline.documents.report", "Report"),
}
"""Name -> (module, class)."""


@click.command()
@click.argument("document", type=click.Choice(sorted(DOCUMENTS)))
def schema(document: str) -> None:
    """Print the JSON Schema of a document."""
    click.echo(render(document))


def render(document: str) -> str:
    """The JSON Schema of the named document as indented JSON, with the keys as they stand on disk."""
    import json
    from importlib import import_module

    from pydantic import BaseModel

    module, name = DOCUMENTS[document]
    model = getattr(import_module(module), name)
    assert issubclass(model, BaseModel)
    body = model.model_json_schema(by_alias=True)
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **body}, indent=2)
