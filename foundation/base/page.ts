import type { Static } from 'typebox';
import { Type } from './type.ts';
import { AnyId } from './wire.ts';

/** The query of a list: `limit` and `offset` (decisions, Conventions). */
export type PageQuery = Static<ReturnType<typeof pageQuery>>;

/** A part of a list: at most `limit` entries after the first `offset`. */
export interface Page {
  readonly limit: number;
  readonly offset: number;
}

/** Members of a list's query schema; what is not a non-negative integer is refused with 400. */
export function pageQuery(options: { defaultLimit: number }) {
  return Type.Object({
    limit: Type.Integer({ minimum: 0, default: options.defaultLimit }),
    offset: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }),
  });
}

/** The page that a query asks for; a `limit` above the maximum is the maximum. Default maximum: 500 records. */
export function pageOf(query: { limit: number; offset: number }, maximum = 500): Page {
  return { limit: Math.min(query.limit, maximum), offset: query.offset };
}

/** The `{id}` of a path. A text that is not one of our ids is unknown, not malformed: 404. */
export const IdParams = Type.Object({ id: AnyId });
