"""Checks records against docs/schema/records.schema.json, with python3-jsonschema.

`jsonschema` is `None` if it is not installed.
"""
import json
import pathlib

try:
    import jsonschema
except ImportError:
    jsonschema = None

FILE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "schema" / "records.schema.json"
SCHEMA = json.loads(FILE.read_text())


def validator(rule):
    """Returns a validator for a rule that may refer to the schema's definitions."""
    return jsonschema.Draft202012Validator({**rule, "$defs": SCHEMA["$defs"]})


def complaint(record):
    """Validates the record against the rule for the kind that it states. Returns the error, or an empty
    string."""
    kind = record.get("record")
    rule = {"$ref": f"#/$defs/{kind}"} if {"$ref": f"#/$defs/{kind}"} in SCHEMA["oneOf"] else SCHEMA
    error = jsonschema.exceptions.best_match(validator(rule).iter_errors(record))
    return f"{error.json_path.replace('$', 'record', 1)}: {error.message:.200}" if error else ""
