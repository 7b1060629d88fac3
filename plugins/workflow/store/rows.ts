import type { EntityName } from '@mikro-orm/core';
import { isStorableText, type PlainWhere, type TenantEntityManager } from 'agent-gateway';

/** Lengths of columns, in characters; the migrations say the same to the database. */
export const LENGTHS = {
  definitionId: 128,
  nodeId: 64,
  /** A status of a run, a step or a definition. */
  status: 16,
  eventType: 32,
  /** Name of an event sink. */
  sink: 64,
  /** One incarnation of a process. */
  worker: 64,
  identity: 255,
  /** SHA-256 in hexadecimal. */
  digest: 64,
} as const;

/** Name of an entity of one engine, unique in the database: `workflow` and `run` give `WorkflowRun`. */
export function entityName(engine: string, entity: string): string {
  return [engine, entity].map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

/**
 * JSON values as texts. PostgreSQL's own JSON refuses U+0000 and halves of surrogate pairs, and MySQL's sorts members
 * and rounds numbers; `JSON.stringify` escapes both, and a text column returns them unchanged.
 */
export function toText(value: unknown): string {
  return JSON.stringify(value);
}

/** What a text says. Members named `__proto__` become own members like any other. */
export function fromText<T>(text: string): T {
  return JSON.parse(text) as T;
}

/**
 * The members of `state` as columns: those of `json` as texts. Null stays null, so that the database can distinguish
 * missing values.
 */
export function toColumns<State extends object, Name extends keyof State>(
  state: State,
  json: readonly Name[],
): Omit<State, Name> & { [N in Name]: string | Extract<State[N], null> } {
  const texts = json.map((name) => [name, state[name] === null ? null : toText(state[name])]);
  return { ...state, ...Object.fromEntries(texts) };
}

/** What columns hold: those of `json` are texts. */
export function fromColumns<State extends object>(row: object, json: readonly (keyof State)[]): State {
  const state = { ...row } as State;
  for (const name of json) {
    const text = state[name] as string | null;
    if (text !== null) state[name] = fromText(text);
  }
  return state;
}

/** The columns in which `after` differs; objects are compared by identity. Empty where it does not. */
export function changedColumns<State extends object>(
  before: State,
  after: State,
  json: readonly (keyof State)[],
): Record<string, unknown> {
  const names = (Object.keys(after) as (keyof State & string)[]).filter(
    (name) => before[name] !== after[name],
  );
  return Object.fromEntries(
    names.map((name) => {
      const value = after[name];
      return [name, json.includes(name) && value !== null ? toText(value) : value];
    }),
  );
}

/**
 * The first row that matches; none where the condition has a text that no database can hold. `fields`: what is read of
 * it, default all.
 */
export async function findRow<E extends object, Field extends keyof E & string = keyof E & string>(
  entities: TenantEntityManager,
  table: EntityName<E>,
  where: PlainWhere<NoInfer<E>>,
  fields?: readonly Field[],
): Promise<Pick<E, Field> | undefined> {
  if (!Object.values(where).every((value) => typeof value !== 'string' || isStorableText(value)))
    return undefined;
  const [row] = await entities.rows(table, where, { limit: 1, ...(fields && { fields }) });
  return row;
}
