/** Headers of a request, or the metadata of a call, by their names in lower case. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The value of a header, in any case; of a header that came several times the first. `undefined` where there is none. */
export function headerOf(headers: Headers, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return typeof value === 'object' ? value[0] : value;
}
