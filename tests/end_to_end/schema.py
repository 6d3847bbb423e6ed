"""Checks records against docs/schema/records.schema.json, with python3-jsonschema.

`jsonschema` is None where it is not installed.
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
    """Of a rule that may refer to the schema's definitions."""
    return jsonschema.Draft202012Validator({**rule, "$defs": SCHEMA["$defs"]})


def complaint(record):
    """What is wrong with the record, by the rule for the kind that it says it is; empty when nothing is."""
    kind = record.get("record")
    rule = {"$ref": f"#/$defs/{kind}"} if {"$ref": f"#/$defs/{kind}"} in SCHEMA["oneOf"] else SCHEMA
    error = jsonschema.exceptions.best_match(validator(rule).iter_errors(record))
    return f"{error.json_path.replace('$', 'record', 1)}: {error.message:.200}" if error else ""
