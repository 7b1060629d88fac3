/** How far a change of the contract reaches: plugins see no difference, more than before, or less. */
export type Reach = 'none' | 'minor' | 'major';

/** A declaration that differs between two reports. */
export interface ContractChange {
  readonly name: string;
  readonly reach: Exclude<Reach, 'none'>;
  /** For people: `is gone`, `has lines that changed or went`. */
  readonly what: string;
}

/**
 * The declarations of a report of API Extractor by name, without comments. Pure.
 *
 * @param report the Markdown file: one fence of declarations, each after a comment that begins with `// @`
 */
export function declarationsOf(report: string): ReadonlyMap<string, readonly string[]> {
  const declarations = new Map<string, readonly string[]>();
  for (const block of report.split(/^(?=\/\/ @|export \{)/m)) {
    const lines = block.split('\n').filter((line) => line.trim() !== '' && !/^\s*(?:\/\/|```)/.test(line));
    const [, name] = NAME.exec(lines[0] ?? '') ?? [];
    // Overloads of a function have one name.
    if (name !== undefined) declarations.set(name, [...(declarations.get(name) ?? []), ...lines]);
  }
  return declarations;
}

const NAME =
  /^(?:export )?(?:declare )?(?:abstract )?(?:(?:const|function|class|interface|type|namespace|enum) |\{ )(\w+)/;

/**
 * The differences, by what they require of plugins: a declaration that is gone, or of which a line changed or went, may
 * break them (`major`); new declarations, and lines between the old ones, do not (`minor`). A new member that plugins
 * have to provide is such a line too, although it breaks them: its author has to know that. Changed lines that break no
 * plugin: see `compatible`. Pure.
 *
 * @param compatible names whose changed lines break no plugin, as a maintainer has decided and written down
 */
export function contractChanges(
  released: ReadonlyMap<string, readonly string[]>,
  current: ReadonlyMap<string, readonly string[]>,
  compatible: ReadonlySet<string> = new Set(),
): readonly ContractChange[] {
  const changes: ContractChange[] = [];
  for (const [name, before] of released) {
    const after = current.get(name);
    if (after === undefined) changes.push({ name, reach: 'major', what: 'is gone' });
    else if (before.join('\n') === after.join('\n')) continue;
    else if (compatible.has(name)) changes.push({ name, reach: 'minor', what: 'changed compatibly' });
    else if (isWithin(before, after)) changes.push({ name, reach: 'minor', what: 'has more lines' });
    else changes.push({ name, reach: 'major', what: 'has lines that changed or went' });
  }
  for (const name of current.keys())
    if (!released.has(name)) changes.push({ name, reach: 'minor', what: 'is new' });
  return changes;
}

/** Whether all lines are there still, in their order. */
function isWithin(before: readonly string[], after: readonly string[]): boolean {
  let found = 0;
  for (const line of after) if (line === before[found]) found += 1;
  return found === before.length;
}

/** The furthest reach of the changes. Pure. */
export function reachOf(changes: readonly ContractChange[]): Reach {
  if (changes.some(({ reach }) => reach === 'major')) return 'major';
  return changes.length > 0 ? 'minor' : 'none';
}

/** The lowest version that the changes allow. Pure. @param released `1.2.3` */
export function leastVersion(released: string, reach: Reach): string {
  const [major = 0, minor = 0] = released.split('.').map(Number);
  if (reach === 'none') return released;
  return reach === 'minor' ? `${major}.${minor + 1}.0` : `${major + 1}.0.0`;
}
