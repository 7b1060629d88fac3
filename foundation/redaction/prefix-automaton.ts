import { ALNUM, type CharClass, chars, UNITS } from './char-class.ts';
import { BACKSLASH, PERCENT } from './escapes.ts';
import type { Boundary, Pattern } from './pattern.ts';

/**
 * Finds the prefixes of all patterns at once, one table look-up a character: a deterministic automaton, made by the
 * subset construction from the prefixes and their boundaries.
 */
export interface PrefixAutomaton {
  /** The state before the first character of a text. */
  readonly initial: number;
  /** `next[state * UNITS + unit]` is the state after that character; `escape` for one with which an escape begins. */
  readonly next: Uint16Array;
  /** The number above those of all states. */
  readonly escape: number;
  /**
   * The state after `\\n` where its letter is one: in `C:\\npm_…` it begins a prefix. By the letter's character code.
   */
  readonly afterLetter: ReadonlyMap<number, number>;
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

/** A prefix of which so many characters have been read: with itself and all others an item of states. */
interface Item {
  readonly id: number;
  readonly prefix: Prefix;
  readonly read: number;
  /** With which groups of units it goes on; none for a prefix that is complete. */
  readonly groups: readonly number[];
  /** The item after one of those. */
  readonly after: Item | undefined;
}

/** What the last character lets begin after it. */
type Last = 'open' | 'word' | 'joint';

interface State {
  /** Its items as text, which with `last` is all that it is. */
  readonly key: string;
  readonly items: readonly Item[];
  readonly last: Last;
  /** The state after each group of units that continues one of its items; after others comes the fresh state. */
  grown: readonly (readonly [group: number, State])[];
  /** Its place in the tables. */
  number: number;
}

const NOTHING: readonly never[] = [];
const ESCAPE_LETTERS = 'nrtbf';
const JOINT = chars('_-');

/** The automaton of these patterns. To be made once: for 700 patterns it takes some tens of milliseconds. */
export function prefixAutomaton(patterns: readonly Pattern[]): PrefixAutomaton {
  const prefixes = sharedPrefixes(patterns);
  const { samples, groupOf } = groupUnits(prefixes);
  const begun = firstItems(prefixes, samples);
  const states = new Map<string, State>();
  /** The state with these items and those of another. */
  const intern: Intern = (items, rest, last) => {
    let key = '';
    for (const { id } of items) key += `,${id}`;
    key += rest?.key ?? '';
    const known = states.get(last + key);
    if (known !== undefined) return known;
    const all = rest === undefined ? items : [...items, ...rest.items];
    const state: State = { key, items: all, last, grown: NOTHING, number: 0 };
    states.set(last + key, state);
    return state;
  };
  /** The state after a character that continues nothing. */
  const fresh = samples.map((unit, group) => freshStates(begun, unit, group, intern));
  const initial = intern([], undefined, 'open');
  const letters = new Map(
    [...ESCAPE_LETTERS].map((letter) => {
      const unit = letter.charCodeAt(0);
      return [unit, intern([], fresh[groupOf[unit]!]!.open, 'open')] as const;
    }),
  );
  // A Map yields what is added while it is walked, too.
  for (const state of states.values()) {
    const grown = new Map<number, Item[]>();
    for (const { groups, after } of state.items) {
      for (const group of groups) {
        const going = grown.get(group);
        if (going === undefined) grown.set(group, [after!]);
        else going.push(after!);
      }
    }
    if (grown.size === 0) continue;
    state.grown = Array.from(grown, ([group, going]) => {
      const rest = fresh[group]![state.last];
      return [group, intern(going, rest, rest.last)];
    });
  }
  return tables([...states.values()], { initial, letters, fresh }, groupOf);
}

type Intern = (items: readonly Item[], rest: State | undefined, last: Last) => State;

function memoized<A, R>(of: (argument: A) => R): (argument: A) => R {
  const known = new Map<A, R>();
  return (argument) => {
    if (!known.has(argument)) known.set(argument, of(argument));
    return known.get(argument)!;
  };
}

function sharedPrefixes(patterns: readonly Pattern[]): Prefix[] {
  let classes = 0;
  const numberOf = memoized((_: CharClass) => {
    classes += 1;
    return classes;
  });
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

/**
 * Units that no prefix distinguishes share their transitions; without this, making the automaton takes several times
 * longer.
 */
function groupUnits(prefixes: readonly Prefix[]): { samples: number[]; groupOf: number[] } {
  const sets = new Set([ALNUM, chars(ESCAPE_LETTERS), JOINT, ...prefixes.flatMap(({ classes }) => classes)]);
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

/** Of each prefix the item of which nothing has been read. */
function firstItems(prefixes: readonly Prefix[], samples: readonly number[]): readonly Item[] {
  const groupsOf = memoized((set: CharClass) =>
    samples.flatMap((unit, group) => (set[unit] === 1 ? [group] : [])),
  );
  let id = 0;
  return prefixes.map((prefix) => {
    let item: Item | undefined;
    for (let read = prefix.classes.length; read >= 0; read -= 1, id += 1) {
      const groups = item === undefined ? NOTHING : groupsOf(prefix.classes[read]!);
      item = { id, prefix, read, groups, after: item };
    }
    return item!;
  });
}

/** The states after a unit of this group where no prefix was begun before it, by what stands before it. */
function freshStates(
  begun: readonly Item[],
  unit: number,
  group: number,
  intern: Intern,
): Record<Last, State> {
  const going = begun.filter(({ groups }) => groups.includes(group));
  const after = (last: Last) => {
    const items = going.filter(({ prefix }) => mayBegin(prefix.boundary, last)).map((item) => item.after!);
    return intern(items, undefined, lastOf(unit));
  };
  return { open: after('open'), word: after('word'), joint: after('joint') };
}

function mayBegin(boundary: Boundary, last: Last): boolean {
  if (boundary === 'anywhere' || last === 'open') return true;
  return boundary === 'word' && last === 'joint';
}

function lastOf(unit: number): Last {
  if (ALNUM[unit] === 1) return 'word';
  return JOINT[unit] === 1 ? 'joint' : 'open';
}

function tables(
  states: readonly State[],
  starts: {
    readonly initial: State;
    readonly letters: ReadonlyMap<number, State>;
    readonly fresh: readonly Record<Last, State>[];
  },
  groupOf: readonly number[],
): PrefixAutomaton {
  const { initial, letters, fresh } = starts;
  const { quiet = [], hitting = [] } = Object.groupBy(states, ({ items }) =>
    items.some(isHit) ? 'hitting' : 'quiet',
  );
  const ordered = [...quiet, ...hitting];
  for (const [number, state] of ordered.entries()) state.number = number;
  // Of most states nearly all is the fresh state: it is copied, and what differs is written over it.
  const freshRow = memoized((last: Last) => Uint16Array.from(groupOf, (group) => fresh[group]![last].number));
  const unitsOf = fresh.map((_, group) => groupOf.flatMap((of, unit) => (of === group ? [unit] : [])));
  const next = new Uint16Array(ordered.length * UNITS);
  for (const { number, last, grown } of ordered) {
    const row = next.subarray(number * UNITS, (number + 1) * UNITS);
    row.set(freshRow(last));
    for (const [group, after] of grown) for (const unit of unitsOf[group]!) row[unit] = after.number;
    row[BACKSLASH] = ordered.length;
    row[PERCENT] = ordered.length;
  }
  return {
    initial: initial.number,
    next,
    escape: ordered.length,
    afterLetter: new Map([...letters].map(([unit, { number }]) => [unit, number])),
    firstHit: quiet.length,
    hits: hitting.map(({ items }) => items.filter(isHit).flatMap(({ prefix }) => prefix.orders)),
    held: Uint8Array.from(ordered, ({ items }) => Math.max(0, ...items.map(heldBy))),
  };
}

/** Whether all of the prefix has been read. */
function isHit({ after }: Item): boolean {
  return after === undefined;
}

function heldBy({ prefix, read, after }: Item): number {
  return prefix.isSecret && after !== undefined ? read : 0;
}
