/** What a text of a model or a provider says as JSON; undefined for one that is no JSON, for they write anything. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
