import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { SecretErrors } from './secret-file.ts';

/**
 * Makes secrets fit to be stored where there can be no reference, since the gateway itself made them, or got them over
 * its API.
 */
export interface Seal {
  /**
   * The stored form: AES-256-GCM under the key, or, without a key, the secret as it is.
   *
   * @param place names the record, such as `webhook/<tenant>/<id>`: moved to another one, the stored form cannot be
   * opened
   */
  seal(secret: string, place: string): string;
  /** The secret. One that was stored without a key is read with a key as well. @throws SecretErrors.sealed */
  open(stored: string, place: string): string;
  /** Whether `open` can read it. */
  opens(stored: string, place: string): boolean;
  /**
   * The form under the key of what was stored under the previous one, or without any; undefined without a previous key,
   * and where nothing is to be changed, or can be.
   */
  reseal(stored: string, place: string): string | undefined;
}

const PLAIN = 'plain.';
const SEALED = 'gcm1.';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Makes a seal.
 *
 * @param key text of the operator with the strength of 32 random characters; undefined: nothing is encrypted
 * @param previous another key, that opens and never seals: the one before while `key` is new, the next one while
 * replicas do not have it yet
 */
export function createSeal(key: string | undefined, previous?: string): Seal {
  const current = key === undefined ? undefined : derive(key);
  const keys = previous === undefined ? [current] : [current, derive(previous)];

  return {
    seal: (secret, place) => (current === undefined ? PLAIN + secret : encrypt(secret, place, current)),
    open: (stored, place) => openWith(keys, stored, place),
    opens: (stored, place) => canOpen(keys, stored, place),
    reseal(stored, place) {
      if (current === undefined || previous === undefined) return undefined;
      const isCurrent = stored.startsWith(SEALED) && canOpen([current], stored, place);
      if (isCurrent || !canOpen(keys, stored, place)) return undefined;
      return encrypt(openWith(keys, stored, place), place, current);
    },
  };
}

function openWith(keys: readonly (Buffer | undefined)[], stored: string, place: string): string {
  if (stored.startsWith(PLAIN)) return stored.slice(PLAIN.length);
  let cause: unknown;
  for (const key of stored.startsWith(SEALED) ? keys : []) {
    try {
      if (key !== undefined) return decrypt(stored, place, key);
    } catch (failure) {
      cause = failure;
    }
  }
  throw SecretErrors.sealed(undefined, { cause });
}

function canOpen(...parts: Parameters<typeof openWith>): boolean {
  try {
    openWith(...parts);
    return true;
  } catch {
    return false;
  }
}

function derive(key: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', 'agent-gateway seal', 32));
}

function encrypt(secret: string, place: string, key: Buffer): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(place));
  const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
  return SEALED + Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64');
}

/** Throws where the key, the place or the text is another one. */
function decrypt(stored: string, place: string, key: Buffer): string {
  const bytes = Buffer.from(stored.slice(SEALED.length), 'base64');
  const textAt = NONCE_BYTES + TAG_BYTES;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
    .setAAD(Buffer.from(place))
    .setAuthTag(bytes.subarray(NONCE_BYTES, textAt));
  return Buffer.concat([decipher.update(bytes.subarray(textAt)), decipher.final()]).toString('utf8');
}
