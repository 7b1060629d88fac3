import { Readable } from 'node:stream';
import type { S3, S3ClientConfig, S3ServiceException } from '@aws-sdk/client-s3';
import { DeadlineError, orAborted, startLifetime } from '../../base/deadline.ts';
import { GatewayError } from '../../base/gateway-error.ts';
import type { Logger } from '../../observability/logger.ts';
import { ObjectErrors } from '../object-errors.ts';
import type { ObjectStoreUrl } from '../object-store-url.ts';
import type { PutOptions } from '../objects.ts';
import { readBody } from '../read-body.ts';

/** A bucket. */
export type S3Url = Extract<ObjectStoreUrl, { form: 's3' }>;

/** The SDK, which is large and loaded only where S3 is used. */
export type S3Sdk = typeof import('@aws-sdk/client-s3');

const CONNECT_MS = 5_000;
const ATTEMPTS = 3;
const NO_LOG = { trace() {}, debug() {}, info() {}, error() {} };
/** Bytes of an answer that is no object; the SDK keeps all of it in memory. A list of 1,000 objects has far less. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
/** Each object that is being read holds one. */
const CONNECTIONS = 200;

/**
 * A client for the bucket's store, with credentials from the SDK's default chain (environment, profiles, roles of the
 * platform).
 */
export function createS3Client(sdk: S3Sdk, url: S3Url, log: Pick<Logger, 'warn'>): S3 {
  const agent = { keepAlive: true, maxSockets: CONNECTIONS };
  const client = new sdk.S3({
    ...(url.region === undefined ? {} : { region: url.region }),
    ...(url.endpoint === undefined ? {} : elsewhere(url.endpoint)),
    forcePathStyle: url.pathStyle,
    maxAttempts: ATTEMPTS,
    // One more round trip and a new connection for each part; a refusal is no reason to be fast.
    expectContinueHeader: false,
    // A limit for idle sockets would end slow readers; `call` and `s3Body` have the deadlines.
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: 0, httpAgent: agent, httpsAgent: agent },
    // Failures are returned to the caller; what is left are warnings about the process, its connections for example.
    // The SDK also logs whole requests and answers; their place is not the log.
    logger: {
      ...NO_LOG,
      warn: (...content) => log.warn(`S3: ${content.filter((each) => typeof each === 'string').join(' ')}`),
    },
  });
  // Innermost, before the SDK reads the answer.
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (request) => {
        const result = await next(request);
        boundAnswer(result.response as Answer, commandName === 'GetObjectCommand');
        return result;
      },
    { step: 'deserialize', priority: 'low', name: 'boundAnswer' },
  );
  return client;
}

interface Answer {
  readonly statusCode: number;
  body?: unknown;
}

function boundAnswer(answer: Answer, isObject: boolean): void {
  if (!(answer.body instanceof Readable) || (isObject && answer.statusCode < 300)) return;
  answer.body = readBody(answer.body, {
    silenceMs: SILENCE_MS,
    what: 'an answer of S3',
    signal: undefined,
    explain: (error) => error,
    most: MAX_ANSWER_BYTES,
  });
}

/** Stores that are not Amazon's need not know its newer checksums; signatures cover the bodies. */
function elsewhere(endpoint: string): S3ClientConfig {
  return {
    endpoint,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  };
}

/** How long a request may take with all its retries: enough for 5 MiB at 100 KiB a second. */
const DEADLINE_MS = 60_000;
/**
 * The same for one that sends no body and waits for the head of one answer: a store that hangs is given up sooner. The
 * body of the answer has its own limit.
 */
export const HEAD_DEADLINE = { deadlineMs: 20_000 } as const;

/**
 * Does one request with a deadline: rejects with `DeadlineError` when it is over, with the reason of `signal` when that
 * is aborted. Both end the request. The deadline ends with the promise: a body that is still being read is not cut off
 * by it.
 */
export async function call<T>(
  request: (abortSignal: AbortSignal) => Promise<T>,
  { signal, deadlineMs = DEADLINE_MS }: { signal?: AbortSignal | undefined; deadlineMs?: number } = {},
): Promise<T> {
  const overdue = () => new DeadlineError(`S3 did not answer within ${deadlineMs / 1000} s`);
  using life = startLifetime(signal, deadlineMs, overdue);
  try {
    return await orAborted(request(life.signal), life.signal);
  } catch (error) {
    // The SDK rejects with an error of its own when it is aborted.
    throw life.signal.aborted ? life.signal.reason : error;
  }
}

/** How long the store may be silent while a reader waits for the next bytes. A reader may take its time. */
const SILENCE_MS = 60_000;

/**
 * The body of an answer for callers: fails with `objects.unavailable` when it breaks off or stops, never ends early in
 * silence. Destroying it ends the connection.
 */
export function s3Body(raw: Readable, signal: AbortSignal | undefined, silenceMs = SILENCE_MS): Readable {
  return readBody(raw, { silenceMs, what: 'reading an object from S3', signal, explain: s3Failure });
}

/** The refusal in an error of the SDK; `undefined` for another error. */
function refusalOf(error: unknown): S3ServiceException | undefined {
  return error instanceof Error && '$metadata' in error ? (error as S3ServiceException) : undefined;
}

/** Is there no such object? A bucket that is missing is something else, where the store distinguishes the two. */
export function isMissing(error: unknown): boolean {
  const refusal = refusalOf(error);
  return refusal?.$metadata.httpStatusCode === 404 && refusal.name !== 'NoSuchBucket';
}

/** Is the range outside of the object? */
export function isOutOfRange(error: unknown): boolean {
  return refusalOf(error)?.$metadata.httpStatusCode === 416;
}

/** Did the condition of a write not hold? */
function isConditionFailure(error: unknown): boolean {
  const status = refusalOf(error)?.$metadata.httpStatusCode;
  // 409: another conditional write of this object came first, at this very moment.
  return status === 412 || status === 409;
}

/** May an earlier attempt of the same request have done it already? */
export function wasRetried(error: unknown): boolean {
  return (refusalOf(error)?.$metadata.attempts ?? 1) > 1;
}

/** The error for callers of a write. */
export function putFailure(error: unknown, { ifAbsent, ifMatch }: PutOptions): unknown {
  if (ifAbsent === true && isConditionFailure(error)) return ObjectErrors.exists(undefined, { cause: error });
  if (ifMatch !== undefined && (isConditionFailure(error) || isMissing(error))) {
    return ObjectErrors.changed(undefined, { cause: error });
  }
  return s3Failure(error);
}

/** The error for callers: what the store said is the cause, and not in the text. */
function s3Failure(error: unknown): unknown {
  if (error instanceof GatewayError) return error;
  const isFull = refusalOf(error)?.$metadata.httpStatusCode === 507;
  return (isFull ? ObjectErrors.full : ObjectErrors.unavailable)(undefined, { cause: withStatus(error) });
}

/** An answer to HEAD has no body that could say why: its status is all that an operator can learn. */
function withStatus(error: unknown): unknown {
  const refusal = refusalOf(error);
  const status = refusal?.$metadata.httpStatusCode;
  if (status === undefined || refusal?.name !== 'Unknown') return error;
  return new Error(`S3 answered ${status} and no reason`, { cause: error });
}

/** Does `work`; what fails becomes an error of the catalogue, but for the caller's own abort. */
export async function atS3<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (signal?.aborted && error === signal.reason) throw error;
    throw s3Failure(error);
  }
}
