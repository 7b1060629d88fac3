import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { orAborted } from 'agent-gateway';
import { FileErrors } from '../services/files/errors.ts';
import type { IncomingFile } from '../services/files/files.ts';

/** The name of the file's part (specification 3, `POST /files`). */
const FIELD = 'file';
/** Parts other than the file are ignored. The limits are so high that no client reaches them by accident. */
const LIMITS = { parts: 20, fields: 20, fieldSize: 64 * 1024, headerSize: 16 * 1024, headerPairs: 50 };

/** A form that is parsed while it arrives. */
interface Form<T> {
  /** `Content-Type` of the request: it has the boundary. */
  readonly contentType: string;
  readonly body: Readable;
  readonly signal: AbortSignal;
  /** Takes the file, with backpressure; called once at most. */
  readonly store: (file: IncomingFile) => Promise<T>;
  /** Undoes `store` where the form is refused after all. */
  readonly discard: (stored: T) => Promise<void>;
}

/**
 * Reads a form with one file, which `store` gets while it arrives: only the data in transit is in memory. A refused
 * form is also read to its end, within the limit of its body, since a client that is still sending would not see the
 * answer.
 *
 * @throws file.missing, file.unexpected-part, file.malformed-form, what the body throws, and what `store` throws;
 * nothing is stored then.
 */
export async function readFormFile<T>(form: Form<T>): Promise<T> {
  const { body, signal, store, discard } = form;
  const parser = openParser(form.contentType);
  const failed = Promise.withResolvers<void>();
  let failure: { readonly error: unknown } | undefined;
  let content: Readable | undefined;
  let stored: Promise<T> | undefined;
  const fail = (error: unknown) => {
    failure ??= { error };
    content?.destroy();
    failed.resolve();
  };
  parser
    .on('file', (name, part, filename) => {
      // The part may fail after `store` has stopped reading it.
      part.on('error', () => {});
      if (name !== FIELD || stored !== undefined) {
        part.resume();
        fail(name === FIELD ? FileErrors.unexpected('Send one file') : missing(name));
        return;
      }
      if (!filename) {
        // What browsers send for a form in which no file was chosen.
        part.resume();
        fail(FileErrors.missing('The part "file" has no filename'));
        return;
      }
      content = part;
      stored = store({ filename, content: part });
      stored.catch(fail);
    })
    .on('field', (name) => {
      if (name === FIELD) fail(FileErrors.missing('The part "file" is text: send it with a filename'));
    })
    .on('partsLimit', () => fail(FileErrors.unexpected(`A form may have ${LIMITS.parts} parts`)))
    .on('error', (cause) => fail(FileErrors.malformed('The form ends too early', { cause })));
  try {
    for await (const piece of body) {
      // The parser applies backpressure while the store is slower than the client.
      if (failure === undefined && !parser.write(piece)) {
        await orAborted(Promise.race([once(parser, 'drain'), failed.promise]), signal);
      }
    }
    if (failure === undefined) {
      const finished = once(parser, 'finish');
      parser.end();
      await orAborted(Promise.race([finished, failed.promise]), signal);
    }
  } catch (error) {
    fail(error);
  }
  if (failure !== undefined) {
    await stored?.then(discard, () => {});
    throw failure.error;
  }
  if (stored === undefined) throw missing(undefined);
  return stored;
}

function openParser(contentType: string): BusboyInstance {
  try {
    return new Busboy({ headers: { 'content-type': contentType }, limits: LIMITS });
  } catch (cause) {
    throw FileErrors.malformed('The content type names no boundary', { cause });
  }
}

function missing(found: string | undefined): Error {
  const instead = found === undefined ? '' : `, not "${found.slice(0, 100).toWellFormed()}"`;
  return FileErrors.missing(`The part with the file is called "${FIELD}"${instead}`, {
    errors: [{ pointer: `/body/${FIELD}`, message: 'is required' }],
  });
}
