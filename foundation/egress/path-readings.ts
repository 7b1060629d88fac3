/** Rounds of decoding that some server could do; what is still encoded then is an ordinary character to all of them. */
const ROUNDS = 4;
/** Characters that servers read differently: percent-encoding, backslashes, parameters, empty and dotted segments. */
const AMBIGUOUS = /[%\\;]|\/\.|\/\//;

/**
 * The ways in which a server may read a path: as it is, and as it becomes by decoding once, twice … with empty segments,
 * `;parameters` and dot segments removed. The number of readings is fixed, so that those of a path and of a prefix
 * correspond; a path that all servers read alike has one.
 */
export function pathReadings(path: string): readonly string[] {
  return AMBIGUOUS.test(path) ? allReadings(path) : [path];
}

/** The same, always with all readings: for the prefix of a rule. */
export function allReadings(path: string): readonly string[] {
  const readings = [path];
  for (let round = 1; round <= ROUNDS; round += 1) readings.push(read(readings[round - 1] as string));
  return readings;
}

/** True where a reading of a path lies at or below the same reading of a prefix, by whole segments. */
export function isBelow(path: string, prefix: string): boolean {
  const base = prefix.endsWith('/') ? prefix.slice(0, -1) : prefix;
  return path.startsWith(base) && (path.length === base.length || path[base.length] === '/');
}

/** One round of decoding. Only ASCII matters here: no separator or dot is written with more than one byte. */
function read(path: string): string {
  const decoded = path.replace(/%[0-7][0-9a-f]/gi, (code) =>
    String.fromCharCode(Number.parseInt(code.slice(1), 16)),
  );
  const segments: string[] = [];
  for (const segment of decoded.replaceAll('\\', '/').split('/')) {
    const name = segment.replace(/;.*$/s, '');
    if (name === '..') segments.pop();
    else if (name !== '' && name !== '.') segments.push(name);
  }
  return `/${segments.join('/')}`;
}
