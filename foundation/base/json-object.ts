/** True for what JSON calls an object, and YAML a mapping: it has names with values, and is neither null nor a list. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
