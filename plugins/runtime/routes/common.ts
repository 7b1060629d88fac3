import { Type } from 'agent-gateway';
import type { TSchema } from 'typebox';

/** Records of a page at most. */
export const MAX_PAGE = 500;

/** The `{id}` of a path. What is no id of ours is unknown, not malformed: 404. */
export const IdParams = Type.Object({ id: Type.String() });

/** A moment as clients see it: RFC 3339, UTC, with milliseconds. */
export const Timestamp = Type.String({ format: 'date-time' });

/** A page of a list under its plural noun. */
export function listOf<S extends TSchema>(plural: string, record: S) {
  return Type.Object({
    [plural]: Type.Array(record),
    total: Type.Integer(),
    limit: Type.Integer(),
    offset: Type.Integer(),
  });
}
