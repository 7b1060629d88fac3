import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { Ids } from 'agent-gateway';
import type { Platform } from '../contract.ts';

/** Seconds for which a link can be used, and then the login that it began (decisions 1.10). */
export const LOGIN_SECONDS = 600;
/** Seconds for which a cookie session lasts, however it is used (decisions 1.10). */
export const SESSION_SECONDS = 8 * 3_600;

const BYTES = 32;
const SECRET = /^[0-9a-f]{64}$/;

/**
 * A secret by which a browser is recognized: challenge, state, session token and the like. 64 letters and digits, which
 * every provider returns unchanged. Only its hash is stored.
 */
export function newSecret(ids: Pick<Ids, 'bytes'>): string {
  return ids.bytes(BYTES).toString('hex');
}

/** True for a text that `newSecret` could have made; other texts are not looked up. */
export function isSecret(text: string): boolean {
  return SECRET.test(text);
}

/** How a secret is stored and looked up: 64 hexadecimal digits. */
export function hashOf(secret: string): string {
  return hash('sha256', secret);
}

/** Whether a secret has this hash. The comparison takes constant time. */
export function hasHash(secret: string, stored: string): boolean {
  return timingSafeEqual(Buffer.from(hashOf(secret)), Buffer.from(stored));
}

/** A user as a provider knows him. */
export interface ProviderUser {
  readonly platform: Platform;
  /** Of the channel app: the same person is a different user in each app. */
  readonly appKey: string;
  /** The provider's own id. It is stored nowhere. */
  readonly id: string;
}

/**
 * What is stored instead of a provider's user id: HMAC-SHA256 over platform NUL app key NUL id (decisions 1.10), 64
 * hexadecimal digits. Neither platform nor key holds a NUL, so that no two users are written alike.
 */
export function userHash(key: string, { platform, appKey, id }: ProviderUser): string {
  return createHmac('sha256', key).update(`${platform}\0${appKey}\0${id}`).digest('hex');
}
