import { ALNUM, type CharClass, chars, UNITS } from './char-class.ts';
import type { Boundary, Pattern } from './pattern.ts';

/**
 * Finds the prefixes of all patterns at once, one table look-up a character: a deterministic automaton, made by the subset
 * construction from the prefixes and their boundaries.
 */
export interface PrefixAutomaton {
  /** The state before the first character of a text. */
  readonly initial: number;
  /** `next[state * UNITS + unit]` is the state after that character. */
  readonly next: Uint16Array;
  /** A state from this one on completes prefixes; ordinary text stays below. */
  readonly firstHit: number;
  /** `hits[state - firstHit]`: the patterns whose prefix ends here, by their order. */
  readonly hits: readonly (readonly number[])[];
  /** How many of the last characters may be the beginning of a prefix that is part of the secret. */
  readonly held: Uint8Array;
}

/** A prefix and the patterns that begin with it. */
interface Prefix {
  readonly boundary: Boundary;
  readonly classes: readonly CharClass[];
  readonly isSecret: boolean;
  readonly orders: number[];
}

/** A prefix of which so many characters have been read. */
interface Item {
  readonly prefix: number;
  readonly read: number;
}

/** What the last character lets begin after it. */
type Last = 'open' | 'word' | 'joint' | 'backslash';

interface State {
  readonly items: readonly Item[];
  readonly last: Last;
  /** The state after each group of units. */
  readonly next: State[];
}

const ESCAPED = chars('nrtbf');
const JOINT = chars('_-');
const BACKSLASH = chars('\\');

/** The automaton of these patterns. To be made once: for 300 patterns it takes some tens of milliseconds. */
export function prefixAutomaton(patterns: readonly Pattern[]): PrefixAutomaton {
  const prefixes = sharedPrefixes(patterns);
  const { samples, groupOf } = groupUnits(prefixes);
  const states = new Map<string, State>();
  const intern = (items: readonly Item[], last: Last): State => {
    const key = `${last}${items.map(({ prefix, read }) => `,${prefix}:${read}`).join('')}`;
    const known = states.get(key);
    if (known !== undefined) return known;
    const state: State = { items, last, next: [] };
    states.set(key, state);
    return state;
  };
  /** The state after a character that continues nothing; of all that is needed, nearly everything. */
  const fresh = samples.map((unit) => freshStates(prefixes, unit, intern));
  const initial = intern([], 'open');
  // A Map yields what is added while it is walked, too.
  for (const { items, last, next } of states.values()) {
    samples.forEach((unit, group) => {
      const begun = fresh[group]![last];
      const going = items.filter(({ prefix, read }) => prefixes[prefix]!.classes[read]?.[unit] === 1);
      const grown = going.map(({ prefix, read }) => ({ prefix, read: read + 1 }));
      next.push(going.length === 0 ? begun : intern([...grown, ...begun.items], begun.last));
    });
  }
  return tables(prefixes, [...states.values()], initial, groupOf);
}

function sharedPrefixes(patterns: readonly Pattern[]): Prefix[] {
  const numbers = new Map<CharClass, number>();
  const numberOf = (set: CharClass) => {
    if (!numbers.has(set)) numbers.set(set, numbers.size);
    return numbers.get(set);
  };
  const shared = new Map<string, Prefix>();
  patterns.forEach(({ boundary, prefix, secretFrom }, order) => {
    const isSecret = secretFrom < 0;
    const key = [boundary, isSecret, ...prefix.map(numberOf)].join();
    const known = shared.get(key);
    if (known === undefined) shared.set(key, { boundary, classes: prefix, isSecret, orders: [order] });
    else known.orders.push(order);
  });
  return [...shared.values()];
}

/** Units that no prefix tells apart share their transitions; without this, making the automaton takes several times longer. */
function groupUnits(prefixes: readonly Prefix[]): { samples: number[]; groupOf: number[] } {
  const sets = new Set([ALNUM, ESCAPED, JOINT, BACKSLASH, ...prefixes.flatMap(({ classes }) => classes)]);
  const samples: number[] = [];
  const known = new Map<string, number>();
  const groupOf = Array.from({ length: UNITS }, (_, unit) => {
    const signature = Array.from(sets, (set) => set[unit]).join('');
    const group = known.get(signature) ?? known.size;
    if (group === known.size) {
      known.set(signature, group);
      samples.push(unit);
    }
    return group;
  });
  return { samples, groupOf };
}

/** The states after this unit where no prefix was begun before it, by what stands before it. */
function freshStates(
  prefixes: readonly Prefix[],
  unit: number,
  intern: (items: readonly Item[], last: Last) => State,
): Record<Last, State> {
  const after = (last: Last) => {
    const begun = prefixes.flatMap(({ boundary, classes }, prefix) =>
      classes[0]![unit] === 1 && mayBegin(boundary, last) ? [{ prefix, read: 1 }] : [],
    );
    return intern(begun, lastOf(last, unit));
  };
  return { open: after('open'), word: after('word'), joint: after('joint'), backslash: after('backslash') };
}

function mayBegin(boundary: Boundary, last: Last): boolean {
  if (boundary === 'anywhere' || last === 'open' || last === 'backslash') return true;
  return boundary === 'word' && last === 'joint';
}

function lastOf(before: Last, unit: number): Last {
  // The `n` of an escaped line break is no letter of the word after it.
  if (before === 'backslash' && ESCAPED[unit] === 1) return 'open';
  if (ALNUM[unit] === 1) return 'word';
  if (JOINT[unit] === 1) return 'joint';
  return BACKSLASH[unit] === 1 ? 'backslash' : 'open';
}

function tables(
  prefixes: readonly Prefix[],
  states: readonly State[],
  initial: State,
  groupOf: readonly number[],
): PrefixAutomaton {
  const isHit = ({ prefix, read }: Item) => read === prefixes[prefix]!.classes.length;
  const quiet = states.filter(({ items }) => !items.some(isHit));
  const hitting = states.filter(({ items }) => items.some(isHit));
  const ordered = [...quiet, ...hitting];
  const numbers = new Map(ordered.map((state, index) => [state, index]));
  const next = new Uint16Array(ordered.length * UNITS);
  ordered.forEach((state, number) => {
    const targets = state.next.map((target) => numbers.get(target)!);
    for (let unit = 0; unit < UNITS; unit += 1) next[number * UNITS + unit] = targets[groupOf[unit]!]!;
  });
  const heldBy = (item: Item) => (prefixes[item.prefix]!.isSecret && !isHit(item) ? item.read : 0);
  return {
    initial: numbers.get(initial)!,
    next,
    firstHit: quiet.length,
    hits: hitting.map(({ items }) => items.filter(isHit).flatMap(({ prefix }) => prefixes[prefix]!.orders)),
    held: Uint8Array.from(ordered, ({ items }) => Math.max(0, ...items.map(heldBy))),
  };
}
