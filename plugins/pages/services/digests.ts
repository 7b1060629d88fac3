import { createHash } from 'node:crypto';
import { type Clock, createSharedCache } from 'agent-gateway';
import { type Folder, isUnchanged, type OpenFile } from './folder.ts';

/**
 * Bytes up to which a tag is made of a file's content; for a larger file of its metadata, since reading all of it takes
 * long.
 */
const LARGEST = 32 * 1024 * 1024;
const PIECE = 256 * 1024;
const MAX_DIGESTS = 10_000;
/** Milliseconds after a change within which the file system may give another change the same time. */
const SETTLING = 100;

/** The strong entity tags of files. */
export interface Digests {
  /**
   * A tag of the content, so that it is the same on every replica and for every copy, and a different one where a build
   * that sets all times to zero has changed a byte. `undefined` where the file was replaced meanwhile.
   */
  of(file: OpenFile): Promise<string | undefined>;
}

/** Makes an empty store of tags. A tag is kept as long as its file is not written. */
export function createDigests(folder: Folder, clock: Clock): Digests {
  const kept = createSharedCache<{ readonly tag: string } | undefined>({
    clock,
    load: async (key) => {
      const [identity, name] = splitKey(key);
      await using file = await folder.open(name);
      if (file?.identity !== identity) return undefined;
      const tag = await digest(file);
      return (await isUnchanged(file)) ? { tag } : undefined;
    },
    maxAge: Number.POSITIVE_INFINITY,
    maxEntries: MAX_DIGESTS,
  });

  return {
    async of(file) {
      if (file.size > LARGEST) return tagOf(createHash('sha256').update(file.identity));
      if (!isSettled(file, clock)) return digest(file);
      return (await kept.get(keyOf(file)))?.tag;
    },
  };
}

/** Whether a further change would get a different time, so that results computed from the file may be cached. */
export function isSettled({ changedAt }: OpenFile, clock: Pick<Clock, 'now'>): boolean {
  return clock.now() - changedAt >= SETTLING;
}

/** A strong entity tag of bytes in memory. */
export function tagOfBytes(bytes: Buffer): string {
  return tagOf(createHash('sha256').update(bytes));
}

/** Names one state of a file, for caches. */
export function keyOf({ identity, name }: OpenFile): string {
  return `${identity} ${name}`;
}

/** The two parts of a key: the identity holds no space. */
export function splitKey(key: string): readonly [identity: string, name: string] {
  const at = key.indexOf(' ');
  return [key.slice(0, at), key.slice(at + 1)];
}

async function digest({ handle, size }: OpenFile): Promise<string> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(Math.min(PIECE, size));
  for (let position = 0; position < size; ) {
    const { bytesRead } = await handle.read({ buffer, position });
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    position += bytesRead;
  }
  return tagOf(hash);
}

function tagOf(hash: ReturnType<typeof createHash>): string {
  return `"${hash.digest('base64url')}"`;
}
