"""Checks values against docs/schema/records.schema.json: the part of JSON Schema that the schema uses, and an error for any other keyword.

Python's standard library only; tests/end_to_end/schema_test.py compares with python3-jsonschema where that is installed.
"""
import json
import pathlib

FILE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "schema" / "records.schema.json"
TYPES = {"string": lambda value: isinstance(value, str), "boolean": lambda value: isinstance(value, bool), "null": lambda value: value is None,
         "object": lambda value: isinstance(value, dict), "array": lambda value: isinstance(value, list),
         "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
         "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool)}
SAID = {"$schema", "title", "description", "$defs"}  # these ask for nothing
KNOWN = SAID | {"$ref", "type", "minimum", "const", "enum", "oneOf", "properties", "required", "additionalProperties", "items", "minItems", "maxItems"}


class Schema:
    def __init__(self, schema):
        self.schema = schema

    def complaint(self, value, rule=None, place="record"):
        """What is wrong with the value; empty when nothing is."""
        rule = self.schema if rule is None else rule
        if unknown := set(rule) - KNOWN:
            raise ValueError(f"the schema uses {', '.join(sorted(unknown))}, which is not checked here")
        if "$ref" in rule:
            return self.complaint(value, self.schema["$defs"][rule["$ref"].removeprefix("#/$defs/")], place)
        types = rule.get("type", [])
        types = [types] if isinstance(types, str) else types
        if types and not any(TYPES[name](value) for name in types):
            return f"{place}: {value!r:.80} is not of type {' or '.join(types)}"
        if "minimum" in rule and TYPES["number"](value) and value < rule["minimum"]:
            return f"{place}: {value} is less than {rule['minimum']}"
        if "const" in rule and value != rule["const"]:
            return f"{place}: {value!r:.80} is not {rule['const']!r}"
        if "enum" in rule and value not in rule["enum"]:
            return f"{place}: {value!r:.80} is none of {rule['enum']}"
        if "oneOf" in rule:
            complaints = [self.complaint(value, choice, place) for choice in rule["oneOf"]]
            if complaints.count("") != 1:
                # The most telling one is that of the kind of record it says it is.
                return next((text for text in complaints if ".record:" not in text), complaints[0]) or f"{place}: fits more than one rule"
        return self.of_object(value, rule, place) if isinstance(value, dict) else self.of_array(value, rule, place) if isinstance(value, list) else ""

    def of_object(self, value, rule, place):
        properties, others = rule.get("properties", {}), rule.get("additionalProperties", True)
        if "record" in properties and "record" in value:  # first, so that complaints are of the right kind of record
            if complaint := self.complaint(value["record"], properties["record"], f"{place}.record"):
                return complaint
        for name in rule.get("required", []):
            if name not in value:
                return f"{place}: no member '{name}'"
        for name, member in value.items():
            if name not in properties and others is False:
                return f"{place}: unknown member '{name}'"
            expected = properties.get(name, others)
            if isinstance(expected, dict) and (complaint := self.complaint(member, expected, f"{place}.{name}")):
                return complaint
        return ""

    def of_array(self, value, rule, place):
        if len(value) < rule.get("minItems", 0) or len(value) > rule.get("maxItems", len(value)):
            return f"{place}: {len(value)} elements"
        if "items" in rule:
            for index, element in enumerate(value):
                if complaint := self.complaint(element, rule["items"], f"{place}[{index}]"):
                    return complaint
        return ""


def records():
    """The schema of records; None where it is not at hand (in a package without the repository)."""
    return Schema(json.loads(FILE.read_text())) if FILE.exists() else None
