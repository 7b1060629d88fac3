import { createPublicKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import { throttledLog } from '../base/throttle.ts';
import { ConfigurationError } from '../config/configuration-error.ts';
import { readAnswer } from './outbound.ts';

/** Where the keys come from: one of the two. */
export interface JwtKeySettings {
  /** `SVC_JWT_PUBLIC_KEY`: an RSA public key in PEM, or the name of a file that holds it. */
  readonly publicKey?: string;
  /** `SVC_JWT_JWKS_URL`: where the issuer publishes its keys. */
  readonly jwksUrl?: string;
  /** Milliseconds after a read of the JWKS before an unknown key id causes another one; default 30 000. */
  readonly jwksCooldown?: number;
}

/** What the keys are read with. */
interface JwtKeyParts {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  /** Makes the error for a token whose keys cannot be read at the moment. */
  readonly unavailable: (cause: unknown) => Error;
}

/** Milliseconds that one read of the JWKS may take. */
const READ_DEADLINE_MS = 3000;
/** Bytes of a JWKS at most. */
const MAX_JWKS_BYTES = 256 * 1024;
/** Milliseconds for which keys are used: how long a withdrawn key works at most. */
const MAX_AGE_MS = 600_000;
/** Milliseconds after which they are read again in the background: an issuer may be away for the rest of the time. */
const REFRESH_MS = MAX_AGE_MS / 2;
/** Milliseconds after a failed read in which no other is tried. */
const FAILURE_COOLDOWN_MS = 5000;
const MIN_MODULUS_BITS = 2048;

/**
 * The keys that verify JWTs: the configured public key, or those of the JWKS.
 *
 * @throws ConfigurationError for a key that is not an RSA public key of 2048 bits or more, for a bad URL, and when both
 * are configured
 */
export async function loadJwtKeys(settings: JwtKeySettings, parts: JwtKeyParts): Promise<JWTVerifyGetKey> {
  const { publicKey, jwksUrl, jwksCooldown = 30_000 } = settings;
  if (publicKey !== undefined && jwksUrl !== undefined) {
    throw wrong('SVC_JWT_PUBLIC_KEY', 'is set beside SVC_JWT_JWKS_URL; tokens need one source of keys');
  }
  if (publicKey !== undefined) {
    const key = await readPublicKey(publicKey);
    return () => key;
  }
  return remoteKeys(httpUrl(jwksUrl ?? ''), jwksCooldown, parts);
}

function wrong(name: string, message: string, cause?: unknown): ConfigurationError {
  return new ConfigurationError([{ name, message }], { cause });
}

async function readPublicKey(pemOrFile: string): Promise<KeyObject> {
  // A variable often holds its line breaks as \n.
  const pem = pemOrFile.includes('-----BEGIN')
    ? pemOrFile.replaceAll('\\n', '\n')
    : await readFile(pemOrFile, 'utf8').catch((cause) => {
        throw wrong('SVC_JWT_PUBLIC_KEY', 'is neither a PEM nor a file that can be read', cause);
      });
  if (pem.includes('PRIVATE KEY'))
    throw wrong('SVC_JWT_PUBLIC_KEY', 'holds a private key; only the public one belongs here');
  const key = parsePublicKey(pem);
  const bits = key?.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key?.asymmetricKeyType !== 'rsa' || bits < MIN_MODULUS_BITS) {
    throw wrong('SVC_JWT_PUBLIC_KEY', `is not an RSA public key of ${MIN_MODULUS_BITS} bits or more in PEM`);
  }
  return key;
}

function parsePublicKey(pem: string): KeyObject | undefined {
  try {
    return createPublicKey(pem);
  } catch {
    // The parser's message adds nothing for the operator, and quotes nothing that would.
    return undefined;
  }
}

function httpUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw wrong('SVC_JWT_JWKS_URL', 'is not an http or https URL');
  }
  return url;
}

/**
 * Keys by key id, read when they are first needed; a new key id causes one more read, at most one in a cool-down. Known
 * ones are used while they are read again.
 */
async function remoteKeys(
  url: URL,
  cooldown: number,
  { clock, log, unavailable }: JwtKeyParts,
): Promise<JWTVerifyGetKey> {
  const { createRemoteJWKSet, customFetch, errors } = await import('jose');
  let readAt: number | undefined;
  let lastFailure: { readonly at: number; readonly error: unknown } | undefined;

  /** Without a rest, every request of an issuer that is away would wait out the deadline. */
  const restsAfter = () =>
    lastFailure !== undefined && clock.monotonic() - lastFailure.at < FAILURE_COOLDOWN_MS
      ? lastFailure
      : undefined;

  function noteFailure(error: unknown): void {
    if (error !== lastFailure?.error) lastFailure = { at: clock.monotonic(), error };
  }

  const warn = throttledLog<unknown>(clock, (err, count) =>
    log.warn(
      { err, count },
      'the keys of SVC_JWT_JWKS_URL cannot be read again; known ones work for a while',
    ),
  );

  async function read(address: string, init: RequestInit): Promise<Response> {
    const failure = restsAfter();
    if (failure !== undefined) throw failure.error;
    const response = await fetch(address, init);
    if (response.status !== 200) throw new Error(`the JWKS was answered with status ${response.status}`);
    return new Response(await readAnswer(response.body, MAX_JWKS_BYTES, 'the JWKS'));
  }

  const keys = createRemoteJWKSet(url, {
    timeoutDuration: READ_DEADLINE_MS,
    cooldownDuration: cooldown,
    cacheMaxAge: MAX_AGE_MS,
    [customFetch]: read,
  });

  async function reload(): Promise<void> {
    try {
      await keys.reload();
      readAt = clock.monotonic();
    } catch (error) {
      noteFailure(error);
      // Where none are known, the requests that wait for them fail with it.
      if (readAt !== undefined) warn(error);
    }
  }

  return async (header, token) => {
    const isDue = readAt === undefined || clock.monotonic() - readAt >= REFRESH_MS;
    if (isDue && !keys.reloading && restsAfter() === undefined) void reload();
    try {
      return await keys(header, token);
    } catch (cause) {
      const isAboutToken =
        cause instanceof errors.JWKSNoMatchingKey ||
        cause instanceof errors.JWKSMultipleMatchingKeys ||
        cause instanceof errors.JOSENotSupported;
      if (isAboutToken) throw cause;
      // What `node:crypto` says of a key that lacks a part: of the key that the token names, not of the issuer.
      if (cause instanceof DOMException)
        throw new errors.JWKInvalid('a published key cannot be used', { cause });
      noteFailure(cause);
      throw unavailable(new Error('The keys of SVC_JWT_JWKS_URL cannot be read', { cause }));
    }
  };
}
