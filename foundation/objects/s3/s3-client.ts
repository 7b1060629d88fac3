import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import type { Logger } from '../../observability/logger.ts';
import type { ObjectStoreUrl } from '../object-store-url.ts';

/** A bucket. */
export type S3Url = Extract<ObjectStoreUrl, { form: 's3' }>;

/** The SDK, which is large and loaded only where S3 is used. */
export type S3Sdk = typeof import('@aws-sdk/client-s3');

const CONNECT_MS = 5_000;
const ATTEMPTS = 3;
const NO_LOG = { trace() {}, debug() {}, info() {}, error() {} };
/** Each object that is being read holds one. */
const CONNECTIONS = 200;

/**
 * A client for the bucket's store, with credentials from the SDK's default chain (environment, profiles, roles of the
 * platform).
 */
export function createS3Client(sdk: S3Sdk, url: S3Url, log: Pick<Logger, 'warn'>): S3Client {
  const agent = { keepAlive: true, maxSockets: CONNECTIONS };
  return new sdk.S3Client({
    ...(url.region === undefined ? {} : { region: url.region }),
    ...(url.endpoint === undefined ? {} : elsewhere(url.endpoint)),
    forcePathStyle: url.pathStyle,
    maxAttempts: ATTEMPTS,
    // One more round trip and a new connection for each part; a refusal is no reason to be fast.
    expectContinueHeader: false,
    // A limit for idle sockets would end slow readers; `call` and `s3Body` have the deadlines.
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: 0, httpAgent: agent, httpsAgent: agent },
    // Failures come back to whoever asked; what is left are warnings about the process, its connections for example.
    logger: { ...NO_LOG, warn: (...content) => log.warn(`S3: ${texts(content)}`) },
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

/** The SDK also logs whole requests and answers; their place is not the log. */
function texts(content: readonly unknown[]): string {
  return content.filter((each) => typeof each === 'string').join(' ');
}
