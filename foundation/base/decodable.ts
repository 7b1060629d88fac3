/**
 * Whether each `%` of a path or URL begins an escaped character of UTF-8 (`%40`), as whoever decodes its parts demands.
 */
export function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
