import type { Readable } from 'node:stream';
import {
  access,
  byteRange,
  Id,
  IdParams,
  listOf,
  pageOf,
  pageQuery,
  precondition,
  Reply,
  type Route,
  rangeCounts,
  reply,
  route,
  Timestamp,
  Type,
  toWire,
} from 'agent-gateway';
import contentDisposition from 'content-disposition';
import { principalOf, readerOf } from '../../records/contract.ts';
import { FileErrors } from '../services/files/errors.ts';
import type { Files } from '../services/files/files.ts';
import type { FileRecord } from '../store/files.ts';
import { readFormFile } from './form-file.ts';

/** Bytes of a form in addition to the file. */
const FORM_BYTES = 256 * 1024;

/** A file as clients see it (specification 3, File). */
const FileSchema = Type.Object({
  id: Id,
  filename: Type.String({ examples: ['tea.txt'] }),
  mime_type: Type.String({ description: 'What the content looks like', examples: ['text/plain'] }),
  size: Type.Integer({ description: 'Bytes', examples: [5] }),
  created_at: Timestamp,
});

const Wrapped = Type.Object({ file: FileSchema });

const FileForm = Type.Unsafe<Readable>({
  type: 'object',
  properties: { file: { type: 'string', format: 'binary', examples: ['green'] } },
  required: ['file'],
});

const Bytes = Type.String({ format: 'binary', examples: ['green'] });

const ContentHeaders = Type.Object({
  range: Type.Optional(Type.String({ description: 'One range of bytes' })),
  'if-range': Type.Optional(Type.String()),
  'if-none-match': Type.Optional(Type.String()),
});

const tag = 'files';
const readers = { tag, access: access.open(['read']) } as const;

const toFile = toWire(FileSchema);

/** The headers that come with the content. */
const FileHeaders = Type.Object({
  etag: Type.Optional(Type.String()),
  'accept-ranges': Type.Optional(Type.String()),
  'content-disposition': Type.Optional(Type.String()),
  'content-range': Type.Optional(Type.String()),
  'content-security-policy': Type.Optional(Type.String()),
  'x-content-type-options': Type.Optional(Type.String()),
});

/** Uploaded files (specification 3, v2 HTTP API; decisions 3.2). `maxSize`: bytes of one. */
export function fileRoutes(files: Files, maxSize: number): readonly Route[] {
  return [
    route({
      tag,
      access: access.open(['write']),
      method: 'POST',
      path: '/files',
      summary: 'Upload a file',
      description: `A form with one part "file", of ${maxSize} bytes at most.`,
      schema: {
        headers: Type.Object({ 'content-type': Type.Optional(Type.String()) }),
        body: FileForm,
        responses: { 201: Wrapped },
      },
      bodyType: 'form',
      bodyLimit: maxSize + FORM_BYTES,
      handle: async (call) => {
        const { tenant, signal } = call;
        await files.requireRoom(call.entities());
        const received = await readFormFile({
          contentType: call.headers['content-type'] ?? '',
          body: call.body,
          signal,
          store: (incoming) => files.receive(tenant.id, incoming, signal),
          discard: (stored) => files.discard(tenant.id, stored),
        });
        const file = await files.keep(call.entities(), principalOf(call), received);
        call.audit({ changes: { file_id: file.id, size: file.size } });
        return reply.created({ file: toFile(file) });
      },
    }),
    route({
      ...readers,
      method: 'GET',
      path: '/files',
      summary: 'List files, newest first: your own, for administrators those of the tenant',
      schema: { query: pageQuery({ defaultLimit: 50 }), responses: { 200: listOf('files', FileSchema) } },
      handle: async (call) => {
        const page = pageOf(call.query);
        const found = await files.list(call.entities(), readerOf(call), page);
        return { files: found.files.map(toFile), total: found.total, ...page };
      },
    }),
    route({
      ...readers,
      method: 'GET',
      path: '/files/{id}',
      summary: 'Read what is known of a file',
      schema: { params: IdParams, responses: { 200: Wrapped } },
      handle: async (call) => ({
        file: toFile(await files.find(call.entities(), readerOf(call), call.params.id)),
      }),
    }),
    route({
      ...readers,
      method: 'GET',
      path: '/files/{id}/content',
      summary: 'Download a file, or a range of its bytes',
      answerType: '*/*',
      failures: ['range-not-satisfiable'],
      schema: {
        params: IdParams,
        headers: ContentHeaders,
        answerHeaders: FileHeaders,
        responses: {
          200: Bytes,
          206: Bytes,
          304: null,
        },
      },
      handle: async (call) => {
        const file = await files.find(call.entities(), readerOf(call), call.params.id);
        const headers = contentHeaders(file);
        if (precondition(call.headers, headers) === 'unmodified') return reply.empty(304, headers);
        const isCurrent = rangeCounts(call.headers, headers);
        const range = isCurrent ? byteRange(call.headers.range, file.size) : undefined;
        if (range === 'unsatisfiable') {
          throw FileErrors.rangeNotSatisfiable(`The file has ${file.size} bytes`, {
            headers: { 'content-range': `bytes */${file.size}` },
          });
        }
        const { start, end } = range ?? { start: 0, end: file.size - 1 };
        const body = await files.open(call.tenant.id, file, range, call.signal);
        return new Reply(
          range === undefined ? 200 : 206,
          { kind: 'stream', value: body },
          {
            ...headers,
            'content-length': String(end - start + 1),
            ...(range && { 'content-range': `bytes ${start}-${end}/${file.size}` }),
          },
        );
      },
    }),
    route({
      tag,
      access: access.role('admin'),
      method: 'DELETE',
      path: '/files/{id}',
      summary: 'Delete a file',
      schema: { params: IdParams, responses: { 204: null } },
      handle: async (call) => {
        await files.remove(call.entities(), readerOf(call), call.params.id);
        call.audit({ changes: { file_id: call.params.id, deleted: true } });
        return reply.empty();
      },
    }),
  ];
}

/** Headers with which a browser saves the file, and executes nothing of it, whatever its content. */
function contentHeaders({ id, filename, mimeType }: FileRecord) {
  const fallback = filename.replaceAll(/[^ -~]/gu, '?');
  return {
    'content-type': mimeType === 'text/plain' ? 'text/plain; charset=utf-8' : mimeType,
    'content-disposition': contentDisposition(filename, { type: 'attachment', fallback }),
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    'cache-control': 'private, no-cache',
    'accept-ranges': 'bytes',
    // The content of a file never changes.
    etag: `"${id}"`,
  };
}
