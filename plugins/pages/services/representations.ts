import type { Readable } from 'node:stream';
import { type Clock, KernelErrors, type Logger } from 'agent-gateway';
import { lookup } from 'mrmime';
import { acceptedCodings, CODINGS, type Coding } from './content-coding.ts';
import { createDigests } from './digests.ts';
import { FileBody } from './file-body.ts';
import type { Folder, OpenFile } from './folder.ts';
import { createPackedFiles, type PackedFile } from './packed-files.ts';

/**
 * A file in the form that a client accepts. Its open handle is closed by reading to the end what `read` returns, or by
 * `close`.
 */
export interface Representation {
  /** Below the folder: `static/app.js`. */
  readonly name: string;
  readonly type: string;
  /** `undefined`: not compressed. */
  readonly coding: Coding | undefined;
  /** Bytes in this form. */
  readonly size: number;
  /** A strong tag of exactly these bytes. */
  readonly etag: string;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
  /** The bytes from the first to the last, both included. Called once at most. */
  read(start: number, end: number): Buffer | Readable;
  close(): Promise<void>;
}

/** Which file of the folder a path stands for. */
export type Find = (folder: Folder) => Promise<OpenFile | undefined>;

/** Finds files and their forms. */
export interface Representations {
  /**
   * `undefined` where there is no such file. Throws `gateway.unavailable` where the file system fails, or the file is
   * replaced again and again.
   */
  of(find: Find, acceptEncoding: string | undefined): Promise<Representation | undefined>;
}

/** How often a file is looked up where it is replaced meanwhile. */
const ATTEMPTS = 5;

/** What representations are made of. */
interface RepresentationParts {
  readonly folder: Folder;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Makes the caches of the folder's files: tags, and compressed content. */
export function createRepresentations({ folder, clock, log }: RepresentationParts): Representations {
  const digests = createDigests(folder, clock);
  const packed = createPackedFiles(folder, clock, log);

  async function represent(file: OpenFile, acceptEncoding: string | undefined) {
    const type = contentType(file.name);
    const accepted = acceptedCodings(acceptEncoding);
    for (const coding of accepted) {
      const sibling = await openSibling(file, coding);
      if (sibling === undefined) continue;
      await file.handle.close();
      return whole({ ...sibling, modifiedAt: file.modifiedAt }, { name: file.name, type, coding });
    }
    const [best] = accepted;
    const small = best !== undefined && isCompressible(type) ? await packed.of(file, best) : undefined;
    if (small === undefined) return whole(file, { name: file.name, type, coding: undefined });
    await file.handle.close();
    return inMemory(file, small, { name: file.name, type, coding: best });
  }

  /**
   * The compressed file that a build has made. One that is older than its original belongs to an earlier build, and is
   * not used.
   */
  async function openSibling(file: OpenFile, coding: Coding): Promise<OpenFile | undefined> {
    const { ending } = CODINGS.find((one) => one.coding === coding)!;
    const sibling = await folder.open(file.name + ending);
    if (sibling === undefined || sibling.modifiedAt >= file.modifiedAt) return sibling;
    await sibling.handle.close();
    return undefined;
  }

  async function whole(file: OpenFile, form: Form): Promise<Representation | undefined> {
    const etag = await closedOnFailure(file, () => digests.of(file));
    if (etag === undefined) {
      await file.handle.close();
      return undefined;
    }
    return {
      ...form,
      size: file.size,
      etag,
      modifiedAt: modifiedAt(file),
      read: (start, end) => new FileBody(file, { start, end }),
      close: () => file.handle.close(),
    };
  }

  function inMemory(file: OpenFile, { bytes, etag }: PackedFile, form: Form): Representation {
    return {
      ...form,
      size: bytes.length,
      etag,
      modifiedAt: modifiedAt(file),
      read: (start, end) => bytes.subarray(start, end + 1),
      close: async () => {},
    };
  }

  /** `Last-Modified` must not be later than the answer that carries it (RFC 9110, 8.8.2.1). */
  function modifiedAt(file: OpenFile): number {
    return Math.min(Number(file.modifiedAt / 1_000_000n), clock.now());
  }

  return {
    async of(find, acceptEncoding) {
      for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
        const file = await find(folder);
        if (file === undefined) return undefined;
        const found = await closedOnFailure(file, () => represent(file, acceptEncoding));
        if (found !== undefined) return found;
      }
      throw KernelErrors.unavailable('The file is being written', { headers: { 'retry-after': '1' } });
    },
  };
}

type Form = Pick<Representation, 'name' | 'type' | 'coding'>;

async function closedOnFailure<T>(file: OpenFile, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (failure) {
    await file.handle.close();
    throw failure;
  }
}

const IS_TEXT =
  /^(?:text\/|application\/(?:javascript|json|xml|manifest\+json)|[a-z]+\/[\w.-]+\+(?:json|xml)$)/;
const SHRINKS =
  /^(?:application\/(?:wasm|vnd\.ms-fontobject)|font\/(?:ttf|otf|collection)|image\/(?:bmp|x-icon|vnd\.microsoft\.icon))/;

/** The content type of a file, by its name; `application/octet-stream` for an unknown ending. Pure. */
function contentType(name: string): string {
  const type = lookup(name) ?? 'application/octet-stream';
  return IS_TEXT.test(type) ? `${type}; charset=utf-8` : type;
}

/** Whether such content becomes smaller; images, films, archives and web fonts are small already. Pure. */
function isCompressible(type: string): boolean {
  return IS_TEXT.test(type) || SHRINKS.test(type);
}
