const SENSITIVE = /auth|cookie|credential|key|pass|pwd|secret|session|sig|token/i;

/**
 * Whether a header or a parameter of a URL is named like a credential, percent-encoded or not: its value is not shown, whatever it looks like. Rather one
 * value too many is hidden: what it was is in the graph or at the service.
 */
export function isSensitiveName(name: string): boolean {
  return SENSITIVE.test(decoded(name));
}

function decoded(name: string): string {
  if (!name.includes('%')) return name;
  try {
    return decodeURIComponent(name);
  } catch {
    // Broken escapes: each that is whole still counts.
    return name.replaceAll(/%([2-7][0-9a-f])/gi, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
  }
}
