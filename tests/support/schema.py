"""Whether a value is what one of our JSON Schemas asks for."""

from typing import Any

from jsonschema_rs import Draft202012Validator, meta


def faults(value: Any, schema: dict[str, Any]) -> list[str]:
    """Name each place where a value is not what the schema asks for."""
    # A keyword of a wrong kind would make a schema that says nothing.
    meta.validate(schema)
    validator = Draft202012Validator(schema, validate_formats=True)
    return [f"{list(error.instance_path)}: {error.message}" for error in validator.iter_errors(value)]
