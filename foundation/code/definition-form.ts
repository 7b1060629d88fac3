import satisfies from 'semver/functions/satisfies.js';
import validRange from 'semver/ranges/valid.js';
import { misspelledMember, unknownMember } from '../base/nearest-name.ts';

/** The members that are lists, and what each of their elements should be. */
const LISTS: Readonly<Record<string, Element>> = {
  offers: { is: hasId, should: 'what serviceRef returns' },
  points: { is: hasId, should: 'what extensionPoint returns' },
  jobs: { is: hasId, should: 'what defineJob returns' },
  entities: { is: isObject, should: 'what defineEntity returns, or { entity, … }' },
  migrations: { is: isMigration, should: 'a migration: a name, and a function "up"' },
  formerly: { is: (value) => typeof value === 'string', should: 'a name' },
};

/** All members of a definition. */
const MEMBERS = [
  'name',
  'summary',
  'version',
  'kernel',
  'config',
  'needs',
  'wants',
  'listen',
  'onFailure',
  'setup',
  ...Object.keys(LISTS),
];
const LISTEN = ['field', 'below', 'isRequired', 'alone'];

interface Element {
  readonly is: (value: unknown) => boolean;
  readonly should: string;
}

/**
 * What is wrong with the form of a plugin's definition; `undefined` where nothing is. The compiler says it to authors
 * who ask it. Code may arrive without that, and an import in a circle is still undefined when the definition is made:
 * it would fail where the host puts all plugins in an order, and the others with it.
 *
 * @param kernel the version of this kernel's contract
 */
export function definitionProblem(exported: unknown, kernel: string): string | undefined {
  if (!isObject(exported))
    return 'plugin.ts has no definition as its default export: write `export default definePlugin({ … })`';
  if (exported.name === 'kernel') return 'the gateway itself is called kernel: the plugin needs another name';
  const unfit = fitProblem(exported, kernel);
  if (unfit !== undefined) return unfit;
  if (typeof exported.setup !== 'function') return 'the definition has no function "setup"';
  for (const member of ['needs', 'wants']) {
    for (const [name, ref] of Object.entries(exported[member] ?? {}))
      if (!hasId(ref)) return wrong(`${member}.${name}`, ref, 'what serviceRef returns');
  }
  for (const [member, { is, should }] of Object.entries(LISTS)) {
    const list = exported[member];
    if (list === undefined) continue;
    if (!Array.isArray(list)) return wrong(member, list, 'a list');
    const at = list.findIndex((element) => !is(element));
    if (at >= 0) return wrong(`${member}.${at}`, list[at], should);
  }
  return undefined;
}

/**
 * Why a plugin does not fit this kernel; `undefined` where it does: its definition is for another version of the
 * contract, or has members that there are not, which would do nothing, and nobody would be told. The version comes
 * first: such members may be those of the other one.
 *
 * @param kernel the version of this kernel's contract
 */
export function fitProblem(definition: object, kernel: string): string | undefined {
  const { name, kernel: range, listen } = definition as Partial<Record<string, unknown>>;
  const isRange = typeof range === 'string' && validRange(range) !== null;
  if (isRange && !satisfies(kernel, range))
    return `${name} works with kernel ${range}; this one is ${kernel}`;
  const unknown = unknownMember(definition, MEMBERS);
  if (unknown !== undefined)
    return `${unknown}; a definition has ${MEMBERS.join(', ')}, and "setup" registers all else`;
  const misspelled = isObject(listen) ? misspelledMember(listen, LISTEN) : undefined;
  if (misspelled !== undefined) return `"listen": ${misspelled}`;
  if (isRange) return undefined;
  const said = range === undefined ? '' : `: ${JSON.stringify(range)} is no range of versions`;
  return `${name} does not say which kernel it works with${said}; write kernel: '^${kernel}' in its definition`;
}

/** Says of a member that it is not what it should be. */
export function wrong(member: string, value: unknown, should: string): string {
  const hint = value === undefined ? ' (is it exported, and imported in no circle?)' : '';
  return `"${member}" is ${said(value)}, and should be ${should}${hint}`;
}

function said(value: unknown): string {
  if (value === undefined || value === null || typeof value === 'number') return String(value);
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 40));
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** True for what has members. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function hasId(value: unknown): boolean {
  return isObject(value) && typeof value.id === 'string';
}

function isMigration(value: unknown): boolean {
  return (
    isObject(value) &&
    typeof value.name === 'string' &&
    (typeof value.up === 'function' || 'movedTo' in value)
  );
}
