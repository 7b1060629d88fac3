/** What makes a value unusable as data of a graph. */
export type JsonFault = 'not-json' | 'too-deep' | 'too-large';

/**
 * Looks whether a value is JSON of so many bytes (UTF-8, without spaces) and levels at most. Needs no stack, and ends soon with values that are far too
 * large, shared many times or cyclic.
 */
export function jsonFault(
  value: unknown,
  limits: { readonly bytes: number; readonly depth: number },
): JsonFault | undefined {
  let least = 0;
  const pending: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (!isJsonKind(next.value)) return 'not-json';
    if (typeof next.value === 'string') least += next.value.length;
    if (typeof next.value === 'object' && next.value !== null) {
      if (next.depth > limits.depth) return 'too-deep';
      const names = Object.keys(next.value);
      // Before they are noted, so that the notes have a bound.
      least += leastBytes(names, Array.isArray(next.value));
      if (least > limits.bytes) return 'too-large';
      for (const name of names) {
        pending.push({ value: (next.value as Record<string, unknown>)[name], depth: next.depth + 1 });
      }
    }
    if (least > limits.bytes) return 'too-large';
  }
  if (limits.bytes === Number.POSITIVE_INFINITY) return undefined;
  // It is small and flat by now, so that writing it out is cheap.
  return Buffer.byteLength(JSON.stringify(value)) > limits.bytes ? 'too-large' : undefined;
}

/** Fewer than the bytes that members take: what their values hold is left out. */
function leastBytes(names: readonly string[], isArray: boolean): number {
  if (isArray) return names.length * 2;
  return names.reduce((sum, name) => sum + name.length + 4, 0);
}

function isJsonKind(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean';
  if (value === null || Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
