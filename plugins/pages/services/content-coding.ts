/** A way to send content smaller, with the ending of a file that holds it so. In the order of what the gateway prefers. */
export const CODINGS = [
  { coding: 'br', ending: '.br' },
  { coding: 'gzip', ending: '.gz' },
] as const;

export type Coding = (typeof CODINGS)[number]['coding'];

/**
 * The codings that a client would rather have than none, best first (RFC 9110, 12.5.3). Without a header it gets none: it may not know of any.
 * Pure.
 */
export function acceptedCodings(header: string | undefined): readonly Coding[] {
  const weights = new Map((header ?? '').split(',').map(weighed));
  const weightOf = (name: string) => weights.get(name) ?? weights.get('*') ?? 0;
  const asIs = weights.get('identity') ?? 0;
  return CODINGS.map(({ coding }) => ({
    coding,
    // An old name of the same.
    weight: coding === 'gzip' ? Math.max(weightOf('gzip'), weights.get('x-gzip') ?? 0) : weightOf(coding),
  }))
    .filter(({ weight }) => weight > 0 && weight >= asIs)
    .toSorted((a, b) => b.weight - a.weight)
    .map(({ coding }) => coding);
}

/** `gzip;q=0.5`; what is no weight counts as a refusal. */
function weighed(entry: string): readonly [string, number] {
  const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  if (weight === undefined) return [name, 1];
  return [name, /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0];
}
