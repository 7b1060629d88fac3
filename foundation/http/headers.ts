import type { IncomingHttpHeaders } from 'node:http';

/** The value of a header, in any case; of a header that came several times the first. `undefined` where there is none. */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return Array.isArray(value) ? value[0] : value;
}
