import type { Static, TObject, TSchema } from 'typebox';
import { Type } from './type.ts';

/** A moment as clients see it: RFC 3339, UTC, with milliseconds. */
export const Timestamp = Type.String({ format: 'date-time' });

/** An id that the gateway makes. */
export const Id = Type.String({ format: 'uuid' });

/** An id that is mostly one of the gateway's, and may be a client's own: of a session, a request, a user. */
export const AnyId = Type.String({ examples: ['01a209b6-2688-7509-9c34-9e59379066ee'] });

/**
 * The same schema, which has one `type`, and `null` allowed too. Written as one list of types, so that validation
 * messages name the bound that was broken.
 */
export function nullable<S extends TSchema>(schema: S) {
  return Type.Unsafe<Static<S> | null>({ ...schema, type: [(schema as { type?: string }).type, 'null'] });
}

/** A page of a list under its plural noun. */
export function listOf<S extends TSchema>(plural: string, record: S) {
  return Type.Object({
    [plural]: Type.Array(record),
    total: Type.Integer({ examples: [1] }),
    limit: Type.Integer({ examples: [50] }),
    offset: Type.Integer({ examples: [0] }),
  });
}

/** A name of the wire as the code spells it: `createdAt` for `created_at`. */
type Spelled<Name> = Name extends `${infer Head}_${infer Rest}`
  ? `${Head}${Capitalize<Spelled<Rest>>}`
  : Name;

/** What becomes a value of the wire: a moment for its text, nothing for `null`. */
type Unwritten<V> =
  | (V extends readonly (infer Item)[] ? readonly Item[] : V)
  | (string extends V ? Date : never)
  | (null extends V ? undefined : never);

/**
 * Writes records as a schema describes them: the members that it names, in its spelling, moments as RFC 3339, and
 * `null` for what is absent. Other members of a record stay inside.
 */
export function toWire<S extends TObject>({ properties }: S) {
  const names = spellings(properties);
  return (
    record: {
      readonly [Name in keyof Static<S> as Spelled<Name>]: Unwritten<Static<S>[Name]>;
    },
  ) =>
    Object.fromEntries(
      names.map(([wire, own]) => {
        const value = (record as Readonly<Record<string, unknown>>)[own] ?? null;
        return [wire, value instanceof Date ? value.toISOString() : value];
      }),
    ) as Static<S>;
}

/**
 * Reads checked bodies and queries of a schema: the members that it names, as the code spells them. What else was sent
 * is left out.
 */
export function fromWire<S extends TObject>({ properties }: S) {
  const names = spellings(properties);
  return (given: Static<S>) =>
    Object.fromEntries(
      names.map(([wire, own]) => [own, (given as Readonly<Record<string, unknown>>)[wire]]),
    ) as { readonly [Name in keyof Static<S> as Spelled<Name>]: Static<S>[Name] };
}

function spellings(properties: object): readonly (readonly [wire: string, own: string])[] {
  return Object.keys(properties).map((name) => [
    name,
    name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
  ]);
}
