import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Clock } from '../../foundation/base/clock.ts';
import { ObjectErrors } from '../../foundation/objects/object-errors.ts';
import { createObjectSpace } from '../../foundation/objects/object-space.ts';
import type { ObjectStore } from '../../foundation/objects/object-store.ts';
import type { ObjectBody, ObjectInfo, Objects } from '../../foundation/objects/objects.ts';

interface Stored {
  readonly info: ObjectInfo;
  readonly bytes: Buffer;
}

/** Object storage in memory, with the promises of the real forms. For tests: what is stored is kept until the end. */
export function memoryObjects(clock: Clock): Objects {
  const store = memoryStore(clock);
  const parts = { store, clock, observe: () => {} };
  return {
    available: true,
    forTenant: (tenantId) => createObjectSpace(parts, `${tenantId}/`),
    all: () => createObjectSpace(parts, ''),
    check: (signal) => store.check(signal),
    close: () => store.close(),
  };
}

function memoryStore(clock: Clock): ObjectStore {
  const objects = new Map<string, Stored>();
  const below = (prefix: string) =>
    [...objects.values()]
      .filter(({ info }) => info.key.startsWith(prefix))
      .sort((a, b) => Buffer.compare(Buffer.from(a.info.key), Buffer.from(b.info.key)));
  return {
    async put(key, body, { contentType, limit, ifAbsent, ifMatch, signal }) {
      const bytes = await read(body, limit, signal);
      const old = objects.get(key);
      if (ifAbsent === true && old !== undefined) throw ObjectErrors.exists();
      if (ifMatch !== undefined && old?.info.etag !== ifMatch) throw ObjectErrors.changed();
      const etag = createHash('sha256').update(bytes).digest('hex');
      const info = { key, size: bytes.length, modifiedAt: new Date(clock.now()), etag, contentType };
      objects.set(key, { info, bytes });
      return info;
    },
    async get(key, { range, signal }) {
      signal?.throwIfAborted();
      const found = objects.get(key);
      if (found === undefined) return undefined;
      const { info, bytes } = found;
      if (range !== undefined && range.start >= info.size) throw ObjectErrors.rangeNotSatisfiable();
      const part = range === undefined ? bytes : bytes.subarray(range.start, (range.end ?? info.size) + 1);
      return { info, body: Readable.from(part.length === 0 ? [] : [part]) };
    },
    head: async (key) => objects.get(key)?.info,
    delete: async (key) => objects.delete(key),
    async list(prefix, { after = '', limit }) {
      const found = below(prefix).filter(
        ({ info }) => Buffer.compare(Buffer.from(info.key), Buffer.from(after)) > 0,
      );
      const page = found.slice(0, limit).map(({ info: { contentType: _, ...info } }) => info);
      const last = page.at(-1);
      return { objects: page, ...(found.length > limit && last !== undefined ? { next: last.key } : {}) };
    },
    async deleteAll(prefix) {
      const found = below(prefix);
      for (const { info } of found) objects.delete(info.key);
      return { deleted: found.length, bytes: found.reduce((sum, { info }) => sum + info.size, 0) };
    },
    check: async (signal) => signal.throwIfAborted(),
    close: async () => objects.clear(),
  };
}

async function read(body: ObjectBody, limit: number, signal: AbortSignal | undefined): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  const source = typeof body === 'string' || body instanceof Uint8Array ? [body] : body;
  for await (const piece of source as AsyncIterable<string | Uint8Array>) {
    signal?.throwIfAborted();
    const bytes = Buffer.from(piece as Uint8Array);
    size += bytes.length;
    if (size > limit) throw ObjectErrors.tooLarge();
    pieces.push(bytes);
  }
  return Buffer.concat(pieces);
}
