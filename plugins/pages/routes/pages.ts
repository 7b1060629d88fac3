import {
  access,
  byteRange,
  defineErrors,
  KernelErrors,
  precondition,
  Reply,
  type Route,
  type RouteCall,
  rangeCounts,
  reply,
  route,
  Type,
} from 'agent-gateway';
import { cacheControl } from '../services/cache-rule.ts';
import type { Find, Representation, Representations } from '../services/representations.ts';

/** The errors of pages, apart from a missing one. */
const PageErrors = defineErrors({
  changed: { code: 'page.changed', kind: 'precondition-failed', title: 'The file is another one by now' },
  rangeNotSatisfiable: {
    code: 'page.range-not-satisfiable',
    kind: 'range-not-satisfiable',
    title: 'The file has no such bytes',
  },
});

const RequestHeaders = Type.Object({
  'accept-encoding': Type.Optional(Type.String()),
  'if-match': Type.Optional(Type.String()),
  'if-modified-since': Type.Optional(Type.String()),
  'if-none-match': Type.Optional(Type.String()),
  'if-range': Type.Optional(Type.String()),
  'if-unmodified-since': Type.Optional(Type.String()),
  range: Type.Optional(Type.String({ description: 'One range of bytes' })),
});

/**
 * The headers of every file. Scripts and styles come from files of this origin alone, nothing inline and nothing
 * evaluated; no other site can frame the pages, share a window with them, or embed their files.
 */
const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; img-src 'self' data:; object-src 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const;

/** The headers that come with the content. */
const AnswerHeaders = Type.Object({
  ...Object.fromEntries(Object.keys(SECURITY_HEADERS).map((name) => [name, Type.String()])),
  'accept-ranges': Type.String(),
  'content-encoding': Type.Optional(Type.String()),
  'content-range': Type.Optional(Type.String()),
  etag: Type.String({ description: 'Strong: of the bytes in this content encoding' }),
  'last-modified': Type.String(),
});

const Bytes = Type.String({ format: 'binary', examples: ['<!doctype html><title>Console</title>'] });

const schema = {
  headers: RequestHeaders,
  answerHeaders: AnswerHeaders,
  responses: { 200: Bytes, 206: Bytes, 304: null },
} as const;

/**
 * Pages load their files in one go, and need no database: they are neither counted against the window of an address nor
 * asked for credentials.
 */
const page = {
  method: 'GET',
  access: access.public(),
  rateLimit: 'none',
  answerType: '*/*',
  failures: ['not-found', 'range-not-satisfiable'],
} as const;

type Headers = RouteCall<{ headers: typeof RequestHeaders }>['headers'];

/** `/`, `/admin.html` and `/static/*` (specification 1, Admin governance routes). */
export function pageRoutes(representations: Representations): readonly Route[] {
  async function answer(headers: Headers, find: Find): Promise<Reply> {
    const found = await representations.of(find, headers['accept-encoding']);
    if (found === undefined) throw KernelErrors.pathNotFound();
    return replyWith(found, headers);
  }
  return [
    route({
      ...page,
      path: '/',
      summary: 'The page index.html',
      schema,
      handle: ({ headers }) => answer(headers, (folder) => folder.open('index.html')),
    }),
    route({
      ...page,
      path: '/admin.html',
      summary: 'The page admin.html',
      schema,
      handle: ({ headers }) => answer(headers, (folder) => folder.open('admin.html')),
    }),
    route({
      ...page,
      path: '/static/{path*}',
      summary: 'A file of the pages',
      schema: { ...schema, params: Type.Object({ path: Type.String() }) },
      handle: ({ headers, params }) => answer(headers, (folder) => folder.openAsset(params.path)),
    }),
  ];
}

/** The representation's open file is closed in every case: by the body that reads it, or here. */
async function replyWith(found: Representation, conditions: Headers): Promise<Reply> {
  const { size } = found;
  const headers = headersOf(found);
  const outcome = precondition(conditions, found);
  const range =
    outcome === 'met' && rangeCounts(conditions, found) ? byteRange(conditions.range, size) : undefined;
  if (outcome !== 'met' || range === 'unsatisfiable') await found.close();
  if (outcome === 'unmodified') return reply.empty(304, headers);
  if (outcome === 'failed') throw PageErrors.changed();
  if (range === 'unsatisfiable') {
    throw PageErrors.rangeNotSatisfiable(`The file has ${size} bytes`, {
      headers: { 'content-range': `bytes */${size}` },
    });
  }
  const { start, end } = range ?? { start: 0, end: size - 1 };
  const body = found.read(start, end);
  return new Reply(
    range === undefined ? 200 : 206,
    Buffer.isBuffer(body) ? { kind: 'bytes', value: body } : { kind: 'stream', value: body },
    {
      ...headers,
      'content-length': String(end - start + 1),
      ...(range && { 'content-range': `bytes ${start}-${end}/${size}` }),
    },
  );
}

function headersOf({ name, type, coding, etag, modifiedAt }: Representation): Record<string, string> {
  return {
    ...SECURITY_HEADERS,
    'accept-ranges': 'bytes',
    'cache-control': cacheControl(name),
    'content-type': type,
    ...(coding && { 'content-encoding': coding }),
    etag,
    'last-modified': new Date(modifiedAt).toUTCString(),
    vary: 'Accept-Encoding',
  };
}
