import { Readable } from 'node:stream';
import { DeadlineError, linkSignals, orAborted } from '../base/deadline.ts';
import { GatewayError } from '../base/gateway-error.ts';
import { lacksOffer, offerNamed } from '../base/offers.ts';
import { forEachLimited } from '../base/semaphore.ts';
import type { Logger } from '../observability/logger.ts';
import { BodyError, bodyPieces } from './body-pieces.ts';
import { ObjectErrors } from './object-errors.ts';
import type { ObjectStore, StorePutOptions } from './object-store.ts';
import type { ObjectBody, ObjectInfo, ObjectPage } from './objects.ts';
import type { OfferedObjectStore } from './offered-store.ts';
import { readBody } from './read-body.ts';

/** What the store of a plugin is made of. */
export interface ProvidedStoreParts {
  /** `plugin/<plugin>/<name>`. */
  readonly name: string;
  /** The stores that plugins contribute now. */
  readonly stores: () => readonly OfferedObjectStore[];
  readonly log: Pick<Logger, 'warn'>;
  /** Milliseconds for an answer, and for silence inside a body; default a minute. */
  readonly silenceMs?: number;
}

const SILENCE_MS = 60_000;
const PAGE = 1000;
const DELETIONS_AT_ONCE = 8;
const ETAG = /^[\x21\x23-\x7e]{1,200}$/;

/**
 * The store of a plugin, which may come and go: it is looked up at each operation, and held to the promises of
 * `ObjectStore`. Throws `objects.unavailable` while no plugin offers it.
 */
export function openProvidedStore(parts: ProvidedStoreParts): ObjectStore {
  const { name, stores, log, silenceMs = SILENCE_MS } = parts;

  function live(): OfferedObjectStore {
    const offers = stores();
    const store = offerNamed(name, offers);
    if (store === undefined) throw ObjectErrors.unavailable(lacksOffer('OBJECT_STORE_URL', name, offers));
    return store;
  }

  /** One question with a deadline; the signal that the store gets outlives the answer, and ends with the caller's. */
  async function ask<T>(
    question: (store: OfferedObjectStore, signal: AbortSignal) => Promise<T>,
    caller?: AbortSignal,
    late: (answer: T) => void = () => {},
  ): Promise<T> {
    const store = live();
    const overdue = new AbortController();
    const stop = () => overdue.abort(new DeadlineError(`${name} did not answer in time`));
    const timer = setTimeout(stop, silenceMs);
    const signal = caller === undefined ? overdue.signal : AbortSignal.any([overdue.signal, caller]);
    const asked = (async () => question(store, signal))();
    try {
      return await orAborted(asked, signal);
    } catch (error) {
      asked.then(late, () => {});
      if (caller?.aborted === true) throw caller.reason;
      throw failureOf(error);
    } finally {
      clearTimeout(timer);
    }
  }

  function failureOf(cause: unknown): GatewayError {
    const known = cause instanceof GatewayError ? FACTORIES.get(cause.code) : undefined;
    if (known !== undefined) return known(undefined, { cause });
    log.warn({ err: cause, store: name }, 'the object store of a plugin failed');
    return ObjectErrors.unavailable(undefined, { cause });
  }

  async function put(key: string, body: ObjectBody, options: StorePutOptions): Promise<ObjectInfo> {
    const { contentType, ifAbsent = false, ifMatch, signal: caller } = options;
    const store = live();
    using idle = linkSignals(caller);
    const { signal } = idle;
    const stop = () => idle.abort(new DeadlineError(`${name} stood still`));
    let timer: NodeJS.Timeout | undefined;
    // While the caller's body is waited for, the store has nothing to do.
    const pause = () => clearTimeout(timer);
    const resume = () => {
      pause();
      timer = setTimeout(stop, silenceMs);
    };
    const sent = { size: 0, failure: undefined as unknown };
    const source = Readable.from(watchedPieces(body, options, sent, { pause, resume }), {
      objectMode: false,
    });
    source.on('error', () => {});
    resume();
    try {
      const asked = (async () => store.put(key, source, { contentType, ifAbsent, ifMatch, signal }))();
      const info = infoOf(await orAborted(asked, signal), key);
      if (sent.failure !== undefined) throw new Error('a body that broke off was taken for whole');
      if (info.size !== sent.size) throw new Error(`${info.size} bytes were stored of ${sent.size}`);
      return { ...info, contentType };
    } catch (error) {
      const { failure } = sent;
      if (failure instanceof BodyError) throw failure.cause;
      if (failure !== undefined) throw failure;
      if (caller?.aborted === true) throw caller.reason;
      throw failureOf(error);
    } finally {
      pause();
      if (caller?.aborted === true && body instanceof Readable) body.destroy();
      source.destroy();
    }
  }

  return {
    put,
    async get(key, { range, signal: caller }) {
      const found = await ask(
        (store, signal) => store.get(key, { range, signal }),
        caller,
        (late) => late?.body?.destroy?.(),
      );
      if (found === undefined) return undefined;
      const { body } = found;
      try {
        if (!(body instanceof Readable)) throw new Error('the body is no stream');
        const info = infoOf(found.info, key);
        if (range !== undefined && range.start >= info.size) throw ObjectErrors.rangeNotSatisfiable();
        const last = Math.min(range?.end ?? info.size - 1, info.size - 1);
        const bytes = last - (range?.start ?? 0) + 1;
        const what = `the body from ${name}`;
        return {
          info: withType(info),
          body: readBody(body, { silenceMs, what, signal: caller, explain: failureOf, bytes }),
        };
      } catch (error) {
        body?.destroy?.();
        throw failureOf(error);
      }
    },
    async head(key) {
      const info = await ask((store, signal) => store.head(key, { signal }));
      return info === undefined ? undefined : withType(checked(() => infoOf(info, key)));
    },
    delete: async (key) => (await ask((store, signal) => store.delete(key, { signal }))) === true,
    list,
    async deleteAll(prefix) {
      let [deleted, bytes] = [0, 0];
      let after: string | undefined;
      do {
        const { objects, next } = await list(prefix, {
          limit: PAGE,
          ...(after === undefined ? {} : { after }),
        });
        await forEachLimited(objects, DELETIONS_AT_ONCE, async ({ key, size }) => {
          if ((await ask((store, signal) => store.delete(key, { signal }))) !== true) return;
          deleted += 1;
          bytes += size;
        });
        after = next;
      } while (after !== undefined);
      return { deleted, bytes };
    },
    check: (signal) => ask((store) => store.check(signal), signal),
    close: async () => {},
  };

  async function list(
    prefix: string,
    { after, limit }: { readonly after?: string; readonly limit: number },
  ): Promise<ObjectPage> {
    const page = await ask((store, signal) => store.list(prefix, { after, limit, signal }));
    return checked(() => pageOf(page, prefix, after, limit));
  }

  /** What comes back is looked at: an object of another tenant, or a page without an end, is the store's failure. */
  function checked<T>(look: () => T): T {
    try {
      return look();
    } catch (error) {
      throw failureOf(error);
    }
  }
}

const FACTORIES = new Map(
  [
    ObjectErrors.unavailable,
    ObjectErrors.full,
    ObjectErrors.exists,
    ObjectErrors.changed,
    ObjectErrors.rangeNotSatisfiable,
    ObjectErrors.damaged,
  ].map((factory) => [factory.definition.code, factory]),
);

/** The pieces of the caller's body, within its limits; `sent` gets how many bytes they have, and how they failed. */
async function* watchedPieces(
  body: ObjectBody,
  limits: StorePutOptions,
  sent: { size: number; failure: unknown },
  { pause, resume }: { readonly pause: () => void; readonly resume: () => void },
): AsyncGenerator<Buffer, void> {
  const pieces = bodyPieces(body, limits);
  try {
    for (;;) {
      pause();
      const { done, value } = await pieces.next();
      resume();
      if (done === true) return;
      sent.size += value.length;
      yield value;
    }
  } catch (error) {
    sent.failure = error;
    throw error;
  } finally {
    await pieces.return();
  }
}

/** Throws for what does not describe the object of the key. */
function infoOf(info: ObjectInfo | undefined, key: string): ObjectInfo {
  const { size, modifiedAt, etag, contentType } = info ?? ({} as Partial<ObjectInfo>);
  if (info?.key !== key) throw new Error('what came back is of another key');
  if (!Number.isSafeInteger(size) || size! < 0) throw new Error('an object has no size');
  if (!(modifiedAt instanceof Date) || Number.isNaN(modifiedAt.getTime()))
    throw new Error('an object has no time');
  if (typeof etag !== 'string' || !ETAG.test(etag)) throw new Error('an object has no etag');
  return { key, size: size!, modifiedAt, etag, ...(typeof contentType === 'string' ? { contentType } : {}) };
}

const withType = (info: ObjectInfo): ObjectInfo => ({ contentType: 'application/octet-stream', ...info });

function pageOf(page: ObjectPage, prefix: string, after: string | undefined, limit: number): ObjectPage {
  if (!Array.isArray(page?.objects) || page.objects.length > limit) throw new Error('a page is none');
  let last = after;
  const objects = page.objects.map((given: ObjectInfo | undefined) => {
    const { contentType: _, ...info } = infoOf(given, String(given?.key));
    if (!info.key.startsWith(prefix)) throw new Error('a page holds a key of another prefix');
    if (last !== undefined && !isBehind(info.key, last))
      throw new Error('the keys of a page are not in order');
    last = info.key;
    return info;
  });
  const { next } = page;
  if (next === undefined) return { objects };
  // Without progress a list would never end.
  if (typeof next !== 'string' || objects.length === 0 || next !== last)
    throw new Error('a page does not go on behind itself');
  return { objects, next };
}

function isBehind(key: string, other: string): boolean {
  return Buffer.compare(Buffer.from(key), Buffer.from(other)) > 0;
}
