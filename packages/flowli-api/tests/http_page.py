"""The part of ``docs/reference/http.md`` that the OpenAPI document tells: routes, parameters, bodies, answers."""

from __future__ import annotations

from typing import Any

HEADING = "## Routes\n"
_OWN = ("/v1/", "/health", "/ready", "/metrics")


def generated(document: dict[str, Any], plugins: tuple[str, ...]) -> str:
    """Everything below ``HEADING``, without the routes of plugins."""
    schemas: dict[str, Any] = document["components"]["schemas"]
    lines: list[str] = []
    used: list[str] = []
    tags: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in document["paths"].items():
        if not any(path.startswith(f"/v1/{name}") for name in plugins):
            for method, operation in methods.items():
                tags.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    for tag, operations in tags.items():
        lines += [f"### {tag.capitalize()}", "", "| Route | Needs | Body → answer | Does |", "|---|---|---|---|"]
        for method, path, operation in operations:
            body, answer = _body(operation, used), _answer(operation, used)
            needs = {"": "no token", "*": "any token"}.get(operation.get("x-flowli-requires", ""), "")
            needs = needs or f"`{operation['x-flowli-requires']}`"
            text = operation["description"].partition("\n")[0]
            query = ", ".join(f"`{one['name']}`" for one in operation.get("parameters", []) if one["in"] == "query")
            text += f" Query: {query}." if query else ""
            lines.append(f"| `{method} {path}` | {needs} | {body} → {answer} | {text} |")
        lines.append("")
    lines += ["## Models", "", "A field with `?` may be absent or null.", ""]
    for name in used:  # grows while it is walked
        if name in schemas:
            lines += _model(name, schemas[name], used)
    return "\n".join(lines)


def _body(operation: dict[str, Any], used: list[str]) -> str:
    content = operation.get("requestBody", {}).get("content", {})
    return _type(content.get("application/json", {}).get("schema", {}), used) if content else "-"


def _answer(operation: dict[str, Any], used: list[str]) -> str:
    for status, one in operation["responses"].items():
        if status.startswith("2"):
            kinds = one.get("content", {})
            schema = kinds.get("application/json", {}).get("schema")
            return f"{status} " + (_type(schema, used) if schema else ", ".join(f"`{kind}`" for kind in kinds))
    return "-"


def _model(name: str, schema: dict[str, Any], used: list[str]) -> list[str]:
    lines = [f"**{name}**: {' '.join(schema.get('description', '').split())}", ""]
    required = schema.get("required", [])
    for field, one in schema.get("properties", {}).items():
        text = f": {one['description']}" if "description" in one else ""
        lines.append(f"- `{field}{'' if field in required else '?'}` {_type(one, used)}{text}")
    return [*lines, ""]


def _type(schema: dict[str, Any], used: list[str]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name not in used:
            used.append(name)
        return name
    if "enum" in schema or "const" in schema:
        return " or ".join(f"`{one}`" for one in schema.get("enum", [schema.get("const")]))
    if "anyOf" in schema:
        return " or ".join(_type(one, used) for one in schema["anyOf"] if one.get("type") != "null")
    kind = schema.get("type")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}), used)}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'], used)}"
    return str(kind or "any JSON")
