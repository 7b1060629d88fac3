/** What a text says as JSON; undefined for one that is no JSON. The parser's message, which quotes it, is left out. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** True for what JSON calls an object, and YAML a mapping: it has names with values, and is neither null nor a list. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
