import { type GrpcMessage, type Page, Type } from 'agent-gateway';

/** Entries of a page: the maximum, and the default where a request names no size. */
const MAX_PAGE_SIZE = 100;
const PAGE_SIZE = 20;

/** Members of every list request (decisions 3.4). */
export const listRequest = {
  page: Type.Integer({ minimum: 0, description: 'From 1' }),
  page_size: Type.Integer({ minimum: 0 }),
  keyword: Type.String({ maxLength: 200 }),
};

/** A parsed list request. */
interface ListRequest {
  readonly page: number;
  readonly page_size: number;
  readonly keyword: string;
}

/** The page that a list request asks for. */
export function pageOf({ page, page_size }: ListRequest): Page {
  const limit = Math.min(page_size || PAGE_SIZE, MAX_PAGE_SIZE);
  return { limit, offset: (Math.max(1, page) - 1) * limit };
}

/** `{total, has_more}` of a list of which `shown` entries are on this page. */
export function listEnd({ offset }: Page, shown: number, total: number) {
  return { total, has_more: offset + shown < total };
}

/**
 * A page of a list that is in memory as a whole: of the entries of which some text contains the keyword, ignoring case.
 */
export function pageOfAll<T>(
  request: ListRequest,
  all: readonly T[],
  textsOf: (entry: T) => readonly string[],
) {
  const wanted = request.keyword.toLowerCase();
  const found = all.filter((entry) => textsOf(entry).some((text) => text.toLowerCase().includes(wanted)));
  const page = pageOf(request);
  const shown = found.slice(page.offset, page.offset + page.limit);
  return { shown, ...listEnd(page, shown.length, found.length) };
}

/**
 * Levels of nesting in a message; deeper values become JSON text. A `Struct` may have 40 levels, so that this leaves
 * room for what surrounds it.
 */
const MAX_LEVELS = 36;

/**
 * Converts a value to one that a message can carry: halves of surrogate pairs are replaced, since Protocol Buffers
 * refuse them, and values that are nested too deep become JSON text. JSON that came over HTTP may contain both.
 */
export function message(value: GrpcMessage): GrpcMessage {
  return carried(value, 0) as GrpcMessage;
}

function carried(value: unknown, level: number): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (level >= MAX_LEVELS) return JSON.stringify(value).toWellFormed();
  if (Array.isArray(value)) return value.map((item) => carried(item, level + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name.toWellFormed(), carried(item, level + 1)]),
  );
}

/** Name of an agent, a model or a tool in a request. */
export const Name = Type.String({ minLength: 1, maxLength: 256 });
