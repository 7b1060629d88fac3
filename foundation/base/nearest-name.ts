/** Longer names are no typing errors. */
const MAX_LENGTH = 64;

/**
 * The known name that was probably meant: with two typing errors at most (one in names below five letters, none below
 * three), the first of the nearest ones. Undefined when none is close.
 */
export function nearestName(wrong: string, known: readonly string[]): string | undefined {
  if (wrong.length > MAX_LENGTH) return undefined;
  let best: string | undefined;
  let allowed = wrong.length < 3 ? 0 : wrong.length < 5 ? 1 : 2;
  const spelt = spelling(wrong);
  for (const name of known) {
    if (allowed < 0) break;
    const distance = distanceWithin(allowed, spelt, spelling(name));
    if (distance === undefined) continue;
    best = name;
    allowed = distance - 1;
  }
  return best;
}

/** The only known name that the wrong one is some of the words of, or that is some of its: `base_url` for `url`. */
function nameInWords(wrong: string, known: readonly string[]): string | undefined {
  if (wrong.length < 3 || wrong.length > MAX_LENGTH) return undefined;
  const asked = words(wrong);
  const found = known.filter((name) => words(name).includes(asked) || asked.includes(words(name)));
  return found.length === 1 ? found[0] : undefined;
}

/** ` base url `, of `baseUrl`, `base-url` and `base_url`. */
function words(name: string): string {
  return ` ${name
    .replace(/(?<=[a-z0-9])[A-Z]/g, ' $&')
    .replace(/[-_]/g, ' ')
    .toLowerCase()} `;
}

/** `, did you mean max_steps?`, or nothing when none is close. */
export function didYouMean(wrong: string, known: readonly string[]): string {
  const meant = nearestName(wrong, known) ?? nameInWords(wrong, known);
  return meant === undefined ? '' : `, did you mean ${meant}?`;
}

/** Names the first member that is not known, and the one that was probably meant. */
export function unknownMember(written: object, known: readonly string[]): string | undefined {
  const member = Object.keys(written).find((name) => !known.includes(name));
  if (member === undefined) return undefined;
  const meant = nearestName(member, known) ?? nameInWords(member, known);
  return `there is no member "${member}"${meant === undefined ? '' : `, did you mean "${meant}"?`}`;
}

/**
 * Refuses options that are not known: where one that does nothing would let callers in.
 *
 * @param of what the options are of, for the message
 * @throws TypeError
 */
export function onlyKnown<T extends object>(of: string, options: T, known: readonly string[]): T {
  const unknown = unknownMember(options, known);
  if (unknown !== undefined) throw new TypeError(`${of}: ${unknown}`);
  return options;
}

/**
 * Names the first member that is not known and nearly has the name of one that is: it would do nothing, and nobody
 * would be told. Others may be for another version of the contract, or notes of the author.
 *
 * @param meanable those of the known ones that may have been meant; default: all
 */
export function misspelledMember(
  written: object,
  known: readonly string[],
  meanable: readonly string[] = known,
): string | undefined {
  for (const member of Object.keys(written)) {
    const meant = known.includes(member) ? undefined : nearestName(member, meanable);
    if (meant !== undefined) return `there is no member "${member}", did you mean "${meant}"?`;
  }
  return undefined;
}

/**
 * Refuses options of which one is nearly called as a known one that is missing: an object of a class may have members
 * of its own beside those that are known. The compiler says it to authors who ask it.
 *
 * @param of what the options are of, for the message
 * @throws TypeError
 */
export function refuseMisspelled(of: string, options: object, known: readonly string[]): void {
  const missing = known.filter((name) => !(name in options));
  const misspelled = misspelledMember(options, known, missing);
  if (misspelled !== undefined) throw new TypeError(`${of}: ${misspelled}`);
}

/** `maxSteps`, `max-steps` and `max_steps` are spellings of one name in different conventions. */
function spelling(name: string): string {
  return name.replace(/[-_]/g, '').toLowerCase();
}

/**
 * Levenshtein distance, or undefined when it is above `most`. Looks at `2 × most + 1` cells of each row alone, and
 * gives up as soon as it can.
 */
function distanceWithin(most: number, a: string, b: string): number | undefined {
  if (Math.abs(a.length - b.length) > most) return undefined;
  const outside = most + 1;
  const width = 2 * most + 1;
  // Cell `k` of row `i` stands for the first `i` characters of one and `i + k - most` of the other.
  let row = Array.from({ length: width }, (_, k) => (k < most ? outside : k - most));
  let next = row.slice();
  for (let i = 1; i <= a.length; i++) {
    let least = outside;
    for (let k = 0; k < width; k++) {
      const j = i + k - most;
      const substitution = j < 1 || j > b.length ? outside : row[k]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const deletion = (row[k + 1] ?? outside) + 1;
      const insertion = (k === 0 ? outside : next[k - 1]!) + 1;
      const cell = j < 0 || j > b.length ? outside : Math.min(substitution, deletion, insertion, outside);
      next[k] = cell;
      if (cell < least) least = cell;
    }
    if (least === outside) return undefined;
    [row, next] = [next, row];
  }
  const distance = row[b.length - a.length + most]!;
  return distance <= most ? distance : undefined;
}
