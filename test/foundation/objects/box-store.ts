import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { ObjectErrors } from '../../../foundation/objects/object-errors.ts';
import type { ObjectInfo } from '../../../foundation/objects/objects.ts';
import type { OfferedObjectStore } from '../../../foundation/objects/offered-store.ts';

/** An object store of a plugin, in memory. */
export function boxStore(name = 'plugin/acme/box'): OfferedObjectStore & { readonly size: () => number } {
  const kept = new Map<string, { readonly info: ObjectInfo; readonly bytes: Buffer }>();
  return {
    name,
    size: () => kept.size,
    async put(key, body, { contentType, ifAbsent, ifMatch, signal }) {
      const bytes = await buffer(body);
      signal.throwIfAborted();
      const old = kept.get(key);
      if (ifAbsent && old !== undefined) throw ObjectErrors.exists();
      if (ifMatch !== undefined && old?.info.etag !== ifMatch) throw ObjectErrors.changed();
      const etag = createHash('sha256').update(bytes).digest('hex');
      const info = { key, size: bytes.length, modifiedAt: new Date(), etag, contentType };
      kept.set(key, { info, bytes });
      return info;
    },
    async get(key, { range }) {
      const found = kept.get(key);
      if (found === undefined) return undefined;
      const { info, bytes } = found;
      const part = range === undefined ? bytes : bytes.subarray(range.start, (range.end ?? info.size) + 1);
      return { info, body: Readable.from(part.length === 0 ? [] : [part]) };
    },
    head: async (key) => kept.get(key)?.info,
    delete: async (key) => kept.delete(key),
    async list(prefix, { after, limit }) {
      const behind = (key: string) =>
        after === undefined || Buffer.compare(Buffer.from(key), Buffer.from(after)) > 0;
      const all = [...kept.values()]
        .map(({ info }) => info)
        .filter(({ key }) => key.startsWith(prefix) && behind(key))
        .sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
      const objects = all.slice(0, limit);
      return { objects, ...(all.length > limit ? { next: objects.at(-1)!.key } : {}) };
    },
    check: async () => {},
  };
}
