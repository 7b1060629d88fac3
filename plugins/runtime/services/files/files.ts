import { Readable } from 'node:stream';
import {
  type ByteRange,
  type Clock,
  type Database,
  defineJob,
  type Ids,
  type JobHandler,
  type Jobs,
  type Logger,
  ObjectErrors,
  type Objects,
  type Page,
  RETRY_RACES,
  type RetainedRecords,
  rowsByTenant,
  type StoredObjects,
  type TenantEntityManager,
  Type,
} from 'agent-gateway';
import { maySee, type OwnerReader, ownerOf, type Principal, visibleTo } from '../../../records/contract.ts';
import {
  existingFiles,
  FileEntity,
  type FileRecord,
  findFile,
  findFiles,
  findFilesOf,
} from '../../store/files.ts';
import { FileErrors } from './errors.ts';

/** Files of a tenant. */
const MAX_FILES = 10_000;
/** Files whose contents one job deletes. */
const BATCH = 500;

/** Deletes the contents of files whose rows are gone. */
export const FileContents = defineJob(
  'runtime.file-contents',
  Type.Object({ ids: Type.Array(Type.String()) }),
);

/** The prefix of the keys of contents. */
const CONTENTS = 'files/';

/** The key of a file's content among the objects of its tenant. */
export function contentKey(id: string): string {
  return `${CONTENTS}${id}`;
}

/** A file that is being uploaded. */
export interface IncomingFile {
  /** The name that the client sent. */
  readonly filename: string | undefined;
  readonly content: Readable;
}

/** A file whose content is stored, but whose row is not written yet. */
export type ReceivedFile = Pick<FileRecord, 'id' | 'filename' | 'mimeType' | 'size'>;

interface FilesParts {
  readonly objects: Objects;
  readonly jobs: Pick<Jobs, 'publish'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Bytes of one file. */
  readonly maxSize: number;
}

/** Uploaded files: rows in the database, contents in the object store. */
export type Files = ReturnType<typeof createFiles>;

/** Makes the service behind the routes. A file belongs to an identity and the user that it named, as sessions do. */
export function createFiles({ objects, jobs, clock, ids, log, maxSize }: FilesParts) {
  async function find(entities: TenantEntityManager, reader: OwnerReader, id: string): Promise<FileRecord> {
    const file = await findFile(entities, id);
    if (file === undefined) throw FileErrors.notFound();
    if (!maySee(file, reader)) throw FileErrors.forbidden();
    return file;
  }

  /** Deletes content without a row. Where this fails, the clean-up of objects without a row deletes it later. */
  async function discard(tenantId: string, { id }: ReceivedFile): Promise<void> {
    try {
      await objects.forTenant(tenantId).delete(contentKey(id));
    } catch (err) {
      log.warn({ err, tenant_id: tenantId, file_id: id }, 'the content of a refused file stays behind');
    }
  }

  /** Deletes rows, and their contents after the transaction. Must be called in a transaction. */
  async function removeAll(entities: TenantEntityManager, files: readonly FileRecord[]): Promise<number> {
    const gone = files.map(({ id }) => id);
    const count = await entities.delete(FileEntity, { id: { $in: gone } });
    if (count > 0) await jobs.publish(entities, FileContents, { ids: gone });
    return count;
  }

  return {
    /**
     * Throws `file.full` and `objects.unavailable` before anything is read. Concurrent uploads may exceed the number of
     * files a little.
     */
    async requireRoom(entities: TenantEntityManager): Promise<void> {
      if (!objects.available) throw ObjectErrors.unavailable(undefined, { retryable: false });
      if ((await entities.count(FileEntity)) < MAX_FILES) return;
      throw FileErrors.full(`A tenant may have ${MAX_FILES} files`);
    },

    /**
     * Stores content while it arrives; `keep` or `discard` must follow. Throws `file.too-large` and what the object
     * store throws.
     */
    async receive(tenantId: string, incoming: IncomingFile, signal: AbortSignal): Promise<ReceivedFile> {
      const id = ids.uuid();
      const { head, whole } = await peek(incoming.content);
      const mimeType = await mimeTypeOf(head);
      try {
        const { size } = await objects.forTenant(tenantId).put(contentKey(id), whole, {
          contentType: mimeType,
          limit: maxSize,
          signal,
        });
        return { id, filename: displayName(incoming.filename), mimeType, size };
      } catch (error) {
        if (!ObjectErrors.tooLarge.is(error)) throw error;
        throw FileErrors.tooLarge(`A file may have ${maxSize} bytes`);
      }
    },

    discard,

    /** Makes a file of stored content by writing its row. */
    async keep(
      entities: TenantEntityManager,
      principal: Principal,
      received: ReceivedFile,
    ): Promise<FileRecord> {
      const file = { ...received, ...ownerOf(principal), createdAt: new Date(clock.now()) };
      try {
        await entities.insert(FileEntity, file);
      } catch (error) {
        // The answer to a commit may have been lost: content is discarded only where the row is known to be absent.
        const isKnownToBeAbsent = await findFile(entities, file.id).then(
          (row) => row === undefined,
          () => false,
        );
        if (isKnownToBeAbsent) await discard(principal.tenantId, received);
        throw error;
      }
      return file;
    },

    /** The files that the reader may see, newest first. */
    async list(entities: TenantEntityManager, reader: OwnerReader, page: Page) {
      const [files, total] = await findFiles(entities, visibleTo(reader), page);
      return { files, total };
    },

    /** @throws file.not-found, file.forbidden */
    find,

    /**
     * The content of a file. Throws `file.not-found` where it is gone, or has another size than the client is told: it
     * would wait for the rest. And what the object store throws.
     */
    async open(
      tenantId: string,
      { id, size }: Pick<FileRecord, 'id' | 'size'>,
      range: ByteRange | undefined,
      signal: AbortSignal,
    ): Promise<Readable> {
      const wanted = range === undefined ? { signal } : { range, signal };
      const found = await objects.forTenant(tenantId).get(contentKey(id), wanted);
      if (found?.info.size === size) return found.body;
      found?.body.destroy();
      log.error(
        { tenant_id: tenantId, file_id: id, bytes: size, found: found?.info.size },
        'the content of a file is not, or not as a whole, in the object store that this replica uses',
      );
      throw FileErrors.notFound('The content of the file is gone');
    },

    /** Deletes a file; its content goes soon after. Throws `file.not-found`. */
    async remove(entities: TenantEntityManager, reader: OwnerReader, id: string): Promise<void> {
      await entities.transaction(async (unit) => {
        const file = await find(unit, reader, id);
        if ((await removeAll(unit, [file])) === 0) throw FileErrors.notFound();
      });
    },

    /** Deletes a batch of files that are older, in the caller's transaction; returns their number. */
    async removeBefore(entities: TenantEntityManager, before: Date): Promise<number> {
      const oldest = { orderBy: { createdAt: 'asc', id: 'asc' }, limit: BATCH } as const;
      const files = await entities.rows(FileEntity, { createdAt: { $lt: before } }, oldest);
      return files.length === 0 ? 0 : removeAll(entities, files);
    },

    /**
     * Deletes all files of the tenant, or of one identity or user, in the caller's transaction; returns their number.
     */
    async erase(entities: TenantEntityManager, name: string | undefined): Promise<number> {
      let count = 0;
      for (;;) {
        const files = await findFilesOf(entities, name, BATCH);
        if (files.length === 0) return count;
        count += await removeAll(entities, files);
      }
    },
  };
}

/** The references to contents, which are rows. Ids are never used again, so content without a row never gets one. */
export function fileReferences(database: Pick<Database, 'forTenant'>): StoredObjects {
  return {
    name: 'runtime',
    prefixes: [CONTENTS],
    async unreferenced(tenantId, keys, remove) {
      const idOf = (key: string) => key.slice(CONTENTS.length);
      const there = await existingFiles(database.forTenant(tenantId), keys.map(idOf));
      await remove(keys.filter((key) => !there.has(idOf(key))));
    },
  };
}

/** Does `FileContents`. */
export function removeContents(objects: Objects): JobHandler<{ readonly ids: readonly string[] }> {
  return async (payload, { tenantId, signal }) => {
    const space = objects.forTenant(tenantId!);
    for (const id of payload.ids) {
      signal.throwIfAborted();
      await space.delete(contentKey(id));
    }
  };
}

/** The first bytes of a stream, and all of it. */
async function peek(content: Readable): Promise<{ readonly head: Buffer; readonly whole: Readable }> {
  const pieces = content[Symbol.asyncIterator]() as AsyncIterator<Buffer, void>;
  const first: Buffer[] = [];
  let size = 0;
  let next = await pieces.next();
  for (; next.done !== true && size < SNIFFED; next = await pieces.next()) {
    first.push(next.value);
    size += next.value.length;
  }
  return {
    head: Buffer.concat(first).subarray(0, SNIFFED),
    whole: Readable.from(all(first, next, pieces), { objectMode: false }),
  };
}

/** What was read, and the rest. */
async function* all<T>(
  first: readonly T[],
  next: IteratorResult<T, void>,
  rest: AsyncIterator<T, void>,
): AsyncGenerator<T, void> {
  yield* first;
  for (let result = next; result.done !== true; result = await rest.next()) yield result.value;
}

/** Characters of a name. */
const MAX_NAME = 255;
/** Overrides of the direction of writing, by which `exe.txt` can be shown for `txt.exe`. */
const DIRECTIONS = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * A file's name as it is shown and offered for saving: the last part of a path, without control characters and
 * overrides of the direction, 1 to 255 characters, `file` where nothing is left. It is never used as a name on a disk.
 * Pure.
 */
export function displayName(given: string | undefined): string {
  const last = (given ?? '').toWellFormed().split(/[\\/]/).at(-1) ?? '';
  const name = last
    .replaceAll(DIRECTIONS, '')
    .replaceAll(/[\p{Cc}\u2028\u2029]/gu, ' ')
    .trim();
  const cut = [...name].slice(0, MAX_NAME).join('').trim();
  return cut === '' || cut === '.' || cut === '..' ? 'file' : cut;
}

/** Bytes at the beginning of a file that are examined; `file-type` needs as many. */
const SNIFFED = 4100;

const BINARY = 'application/octet-stream';
const TEXT = 'text/plain';
/**
 * The type as which SVG and XHTML may be recognized: a browser might execute such content, so it becomes text like
 * other markup.
 */
const MARKUP = 'application/xml';

/**
 * The type of a file by its first `SNIFFED` bytes; the type that a client sends is ignored. Text of any kind is
 * `text/plain`, unknown content `application/octet-stream`.
 */
async function mimeTypeOf(head: Uint8Array): Promise<string> {
  const { fileTypeFromBuffer } = await import('file-type');
  const found = await fileTypeFromBuffer(head);
  if (found !== undefined && found.mime !== MARKUP) return found.mime;
  return isText(head) ? TEXT : BINARY;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/;

function isText(head: Uint8Array): boolean {
  try {
    // `stream`: the last character may be cut.
    return !CONTROLS.test(new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true }));
  } catch {
    return false;
  }
}

/** Uploaded files, which are deleted with their contents. */
export function retainedFiles(
  database: Pick<Database, 'forTenant' | 'system'>,
  files: Pick<Files, 'removeBefore'>,
): RetainedRecords {
  return {
    name: 'files',
    summary: 'Uploaded files, by the time of their upload, with their contents',
    sizes: () => rowsByTenant(database, FileEntity),
    count: (tenantId, before) =>
      database
        .forTenant(tenantId)
        .count(FileEntity, before === undefined ? {} : { createdAt: { $lt: before } }),
    async *deleteBefore(tenantId, before, signal) {
      const entities = database.forTenant(tenantId);
      for (let deleted = -1; deleted !== 0; ) {
        signal.throwIfAborted();
        deleted = await entities.transaction((inside) => files.removeBefore(inside, before), RETRY_RACES);
        yield deleted;
      }
    },
  };
}
