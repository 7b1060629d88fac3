/**
 * The compressions in which content can be sent, each with the ending of its compressed files. In the gateway's order
 * of preference.
 */
export const CODINGS = [
  { coding: 'br', ending: '.br' },
  { coding: 'gzip', ending: '.gz' },
] as const;

export type Coding = (typeof CODINGS)[number]['coding'];

/**
 * The codings that a client prefers to uncompressed content, best first (RFC 9110, 12.5.3). None without a header: the
 * client may support no coding. Pure.
 */
export function acceptedCodings(header: string | undefined): readonly Coding[] {
  const weights = new Map((header ?? '').split(',').map(weighed));
  const weightOf = (name: string) => weights.get(name) ?? weights.get('*') ?? 0;
  const asIs = weights.get('identity') ?? 0;
  return CODINGS.map(({ coding }) => ({
    coding,
    // `x-gzip` is an old name of gzip.
    weight: coding === 'gzip' ? Math.max(weightOf('gzip'), weights.get('x-gzip') ?? 0) : weightOf(coding),
  }))
    .filter(({ weight }) => weight > 0 && weight >= asIs)
    .toSorted((a, b) => b.weight - a.weight)
    .map(({ coding }) => coding);
}

/** `gzip;q=0.5`; an invalid weight counts as a refusal. */
function weighed(entry: string): readonly [string, number] {
  const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  if (weight === undefined) return [name, 1];
  return [name, /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0];
}
