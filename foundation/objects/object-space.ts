import { Counter, Histogram, type Registry } from 'prom-client';
import type { Clock } from '../base/clock.ts';
import { GatewayError } from '../base/gateway-error.ts';
import { bytesOf, tooLarge } from './body-pieces.ts';
import { ObjectErrors } from './object-errors.ts';
import { checkKey, checkPrefix, type KeyRule } from './object-key.ts';
import type { ObjectStore } from './object-store.ts';
import {
  type ByteRange,
  MAX_OBJECT_BYTES,
  type ObjectInfo,
  type ObjectSpace,
  type PutOptions,
} from './objects.ts';

const MAX_PAGE = 1000;
const CONTENT_TYPE = /^[\x20-\x7e]{1,150}$/;
const DEFAULT_CONTENT_TYPE = 'application/octet-stream';

/** What a space is made of. */
interface ObjectSpaceParts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly observe: ObserveObjects;
}

/**
 * The objects whose whole key begins with `prefix` (`<tenant>/`, or nothing), under the rest of their keys. All checks
 * of what callers give are here, so that every form of storage refuses the same.
 */
export function createObjectSpace(parts: ObjectSpaceParts, prefix: string): ObjectSpace {
  const { store, clock, observe } = parts;
  const rule: KeyRule = prefix === '' ? 'whole' : 'of-tenant';

  const relative = (info: ObjectInfo): ObjectInfo => ({ ...info, key: info.key.slice(prefix.length) });

  async function observed<T>(operation: ObjectOperation, work: () => Promise<T>): Promise<T> {
    const start = clock.monotonic();
    const report = (result: ReturnType<typeof resultOf>) =>
      observe(operation, result, (clock.monotonic() - start) / 1000);
    try {
      const value = await work();
      report(value === undefined || value === false ? 'missing' : 'ok');
      return value;
    } catch (error) {
      report(resultOf(error));
      throw error;
    }
  }

  const space: ObjectSpace = {
    put: (key, body, options = {}) =>
      observed('put', async () => {
        checkKey(key, rule);
        const { contentType = DEFAULT_CONTENT_TYPE } = options;
        if (!CONTENT_TYPE.test(contentType)) {
          throw ObjectErrors.invalidContentType(
            'the content type is not 1 to 150 printable ASCII characters',
          );
        }
        const limit = limitOf(options);
        const isHere = typeof body === 'string' || body instanceof Uint8Array;
        if (isHere && bytesOf(body).length > limit) throw tooLarge(limit);
        options.signal?.throwIfAborted();
        return relative(await store.put(prefix + key, body, { ...options, contentType, limit }));
      }),

    get: (key, options = {}) =>
      observed('get', async () => {
        checkKey(key, rule);
        checkRange(options.range);
        options.signal?.throwIfAborted();
        const found = await store.get(prefix + key, options);
        return found && { info: relative(found.info), body: found.body };
      }),

    async text(key, limit) {
      const found = await space.get(key);
      if (found === undefined) return undefined;
      if (found.info.size > limit) {
        found.body.destroy();
        throw tooLarge(limit);
      }
      const pieces: Buffer[] = [];
      for await (const piece of found.body) pieces.push(piece);
      return Buffer.concat(pieces).toString();
    },

    head: (key) =>
      observed('head', async () => {
        checkKey(key, rule);
        const info = await store.head(prefix + key);
        return info && relative(info);
      }),

    delete: (key) =>
      observed('delete', async () => {
        checkKey(key, rule);
        return store.delete(prefix + key);
      }),

    list: (given, { after, limit = MAX_PAGE } = {}) =>
      observed('list', async () => {
        checkPrefix(given, rule);
        if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE) {
          throw new RangeError(`the limit of a list is 1 to ${MAX_PAGE}`);
        }
        if (after !== undefined) checkPrefix(after, rule);
        const from = after === undefined ? {} : { after: prefix + after };
        const page = await store.list(prefix + given, { ...from, limit });
        const objects = page.objects.map(relative);
        return page.next === undefined ? { objects } : { objects, next: page.next.slice(prefix.length) };
      }),

    deleteAll: (given) =>
      observed('delete_all', async () => {
        checkPrefix(given, rule);
        if (prefix + given === '')
          throw ObjectErrors.invalidKey('the prefix is empty: that would delete everything');
        return store.deleteAll(prefix + given);
      }),
  };
  return space;
}

function limitOf({ limit = MAX_OBJECT_BYTES, ifAbsent, ifMatch }: PutOptions): number {
  if (!(limit >= 0)) throw new RangeError('the limit of an object is a number of bytes');
  if (ifAbsent === true && ifMatch !== undefined)
    throw new TypeError('ifAbsent and ifMatch exclude each other');
  return Math.min(limit, MAX_OBJECT_BYTES);
}

function checkRange(range: ByteRange | undefined): void {
  if (range === undefined) return;
  const { start, end = start } = range;
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && end >= start) return;
  throw ObjectErrors.rangeNotSatisfiable('the range does not go from a byte to a later one');
}

/** What was done. Reading a text is a `get`. */
type ObjectOperation = 'put' | 'get' | 'head' | 'delete' | 'list' | 'delete_all';

/**
 * How it ended. `missing`: there was no such object; `refused`: the caller's mistake or a condition that did not hold;
 * `unavailable`: the store failed or has no room; `failed`: anything else, such as a body that broke off.
 */
type ObjectResult = 'ok' | 'missing' | 'refused' | 'unavailable' | 'failed';

/** Called for every operation when it ends; for a `get` when the body begins. */
export type ObserveObjects = (operation: ObjectOperation, result: ObjectResult, seconds: number) => void;

/** Adds `svc_objects_operations_total{operation,result}` and `svc_objects_seconds{operation}` to the registry. */
export function createObjectMetrics(registry: Registry): ObserveObjects {
  const operations = new Counter({
    name: 'svc_objects_operations_total',
    help: 'Operations on object storage by how they ended.',
    labelNames: ['operation', 'result'],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'svc_objects_seconds',
    help: 'Duration of operations on object storage; of reading until the content begins.',
    labelNames: ['operation'],
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60],
    registers: [registry],
  });
  return (operation, result, took) => {
    operations.inc({ operation, result });
    seconds.observe({ operation }, took);
  };
}

/** How an operation ended that threw this. */
function resultOf(error: unknown): ObjectResult {
  if (!(error instanceof GatewayError)) return 'failed';
  if (error.kind === 'unavailable') return 'unavailable';
  return error.kind === 'internal' || error.kind === 'timeout' ? 'failed' : 'refused';
}
