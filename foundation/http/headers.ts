/** Headers of a request, or the metadata of a call, by their names in lower case. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * The value of a header, in any case; of a header that came several times the first. `undefined` where there is none.
 */
export function headerOf(headers: Headers, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return typeof value === 'object' ? value[0] : value;
}

const ASCII = /^[\0-\x7f]*$/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * The same for a header whose value is a text. Node gives each byte as a character; most clients send UTF-8 and some
 * ISO-8859-1 (`fetch` of browsers), and bytes that are no UTF-8 are of the latter.
 */
export function textHeaderOf(headers: Headers, name: string): string | undefined {
  const value = headerOf(headers, name);
  if (value === undefined || ASCII.test(value)) return value;
  try {
    return utf8.decode(Buffer.from(value, 'latin1'));
  } catch {
    return value;
  }
}
