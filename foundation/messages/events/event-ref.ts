import type { Static, TSchema } from 'typebox';

/** A typed name for something that happens. Compare by `id`; the type parameter exists at compile time only. */
export interface EventRef<T> {
  readonly kind: 'event';
  /** `<plugin>.<what-happened>`, unique in the deployment: replicas know events by it. */
  readonly id: string;
  /** What a payload looks like. A remote payload that does not fit is dropped. */
  readonly schema: TSchema;
  /** Never set; carries `T` for inference. */
  readonly type?: T;
}

/** Longest id of an event, in characters. */
const MAX_ID = 128;

/** Words of lower case letters, digits and hyphens, two at least, joined by dots. */
const ID = /^[a-z][a-z0-9-]*(?:\.[a-z][a-z0-9-]*)+$/;

/**
 * Declares an event in a plugin's `contract.ts`. An event is a hint, delivered at most once: put ids into it, not data,
 * and let whoever hears it look into the database.
 *
 * A new version of the plugin runs beside the old one during an update: add optional members, and give an event whose
 * meaning changes a new id.
 *
 * @throws TypeError for an id that is not `<plugin>.<what-happened>` in lower case, 128 characters at most.
 *
 * @example
 * export const SessionAborted = defineEvent('platform.session-aborted', Type.Object({ sessionId: Type.String() }));
 */
export function defineEvent<const S extends TSchema>(id: string, schema: S): EventRef<Static<S>> {
  if (id.length > MAX_ID || !ID.test(id)) {
    throw new TypeError(`"${id.slice(0, MAX_ID)}" is not the id of an event, write <plugin>.<what-happened>`);
  }
  return { kind: 'event', id, schema };
}
