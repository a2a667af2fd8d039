import type { Json, JsonObject } from "@/api/types";

/** The part of JSON Schema that the signatures of workflows are described with. */
export type Schema = JsonObject;

export type Kind =
  | { kind: "object"; properties: [string, Schema][]; required: ReadonlySet<string> }
  | { kind: "array"; items: Schema }
  | { kind: "choice"; choices: Json[] }
  | { kind: "text" | "date" | "moment" | "duration" | "number" | "integer" | "flag" | "json" };

const isSchema = (value: Json | undefined): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Follow references, and leave out "or null". */
export function resolved(schema: Schema, root: Schema): Schema {
  const ref = schema.$ref;
  if (typeof ref === "string" && isSchema(root.$defs)) {
    const found = root.$defs[ref.replace("#/$defs/", "")];
    const { $ref: _, ...more } = schema;
    return isSchema(found) ? resolved({ ...found, ...more }, root) : schema;
  }
  const options = optionsOf(schema).filter((one) => one.type !== "null");
  const { anyOf: _, ...more } = schema;
  return options.length === 1 && options[0] ? resolved({ ...options[0], ...more }, root) : schema;
}

function optionsOf(schema: Schema): Schema[] {
  return Array.isArray(schema.anyOf) ? schema.anyOf.filter(isSchema) : [];
}

export const nullable = (schema: Schema): boolean => optionsOf(schema).some((one) => one.type === "null");

/** How a value of a schema is asked for; what cannot be told is asked for as JSON. */
export function kindOf(given: Schema, root: Schema): Kind {
  const schema = resolved(given, root);
  if (Array.isArray(schema.enum)) return { kind: "choice", choices: schema.enum };
  if ("const" in schema && schema.const !== undefined) return { kind: "choice", choices: [schema.const] };
  const types = new Set(optionsOf(schema).map((one) => one.type));
  // a decimal: a number or its text; as a text no digit is lost
  if (types.size === 2 && types.has("number") && types.has("string")) return { kind: "text" };
  switch (schema.type) {
    case "string":
      if (schema.format === "date") return { kind: "date" };
      if (schema.format === "duration") return { kind: "duration" };
      return { kind: schema.format === "date-time" ? "moment" : "text" };
    case "integer":
    case "number":
      return { kind: schema.type };
    case "boolean":
      return { kind: "flag" };
    case "array":
      return isSchema(schema.items) ? { kind: "array", items: schema.items } : { kind: "json" };
    case "object": {
      if (!isSchema(schema.properties)) return { kind: "json" };
      const properties = Object.entries(schema.properties).filter((one): one is [string, Schema] => isSchema(one[1]));
      const required = Array.isArray(schema.required) ? schema.required.map(String) : [];
      return { kind: "object", properties, required: new Set(required) };
    }
    default:
      return { kind: "json" };
  }
}

/** What a form begins with: the shape of what is required. Defaults are left to the workflow. */
export function initial(schema: Schema, root: Schema): Json | undefined {
  const kind = kindOf(schema, root);
  if (kind.kind === "flag") return false;
  if (kind.kind === "array") return [];
  if (kind.kind !== "object") return undefined;
  const made = kind.properties
    .filter(([name]) => kind.required.has(name))
    .map(([name, one]) => [name, initial(one, root)] as const)
    .filter((one): one is readonly [string, Json] => one[1] !== undefined);
  return Object.fromEntries(made);
}

/** The name of a field for people. */
export function labelOf(name: string, schema: Schema): string {
  const title = typeof schema.title === "string" ? schema.title : name;
  const words = title.replace(/_/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
