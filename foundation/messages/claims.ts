import type { TSchema } from 'typebox';

/** What a plugin handles, by its id: messages, or the credentials that it checks. */
export interface Claim {
  readonly plugin: string;
  readonly kind: 'job' | 'hint' | 'credential' | 'event' | 'durable-event';
  readonly id: string;
  /** Of messages. */
  readonly schema?: TSchema;
}

/**
 * The work of a queue, jobs or hints, is one plugin's: another one would take away what is not meant for it. So is a
 * kind of credential. Any number of plugins may listen to an event, but an id means one thing: two definitions that no
 * payload can fit are two events of one name.
 *
 * @throws Error naming both plugins, the one that comes first in the list first
 */
export function requireUndisputed(claims: readonly Claim[]): void {
  const known = new Map<string, Claim>();
  for (const claim of claims) {
    const { kind, id, plugin, schema } = claim;
    const first = known.get(`${kind} ${id}`);
    if (first === undefined) known.set(`${kind} ${id}`, claim);
    else if (first.plugin === plugin) continue;
    else if (kind !== 'event' && kind !== 'durable-event')
      throw new Error(`the ${kind} ${id} is ${DONE[kind]} by both ${first.plugin} and ${plugin}`);
    else if (contradict(first.schema ?? {}, schema ?? {}))
      throw new Error(`the ${kind} ${id} has two meanings, one in ${first.plugin} and one in ${plugin}`);
  }
}

const DONE = { job: 'worked on', hint: 'worked on', credential: 'checked' } as const;

/** What a schema of an object says. */
interface ObjectSchema {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, { readonly type?: unknown }>>;
  readonly required?: readonly string[];
}

/**
 * Whether two definitions are no versions of one event. Versions only grow, by members that may be absent
 * (`defineEvent`), and a copy may leave members out, so they agree in the types of what both know.
 */
function contradict(one: ObjectSchema, other: ObjectSchema): boolean {
  if (isOther(one, other)) return true;
  const { properties: ours = {} } = one;
  const { properties: theirs = {} } = other;
  const shared = Object.keys(ours).filter((name) => name in theirs);
  if (shared.some((name) => isOther(ours[name]!, theirs[name]!))) return true;
  // Nothing in common, though each has required members.
  return shared.length === 0 && [one, other].every(({ required = [] }) => required.length > 0);
}

/** Types that are written in another way, as of a union, say nothing. */
function isOther({ type: one }: { type?: unknown }, { type: other }: { type?: unknown }): boolean {
  return typeof one === 'string' && typeof other === 'string' && one !== other;
}
