import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { SecretErrors } from './secret-file.ts';

/** Makes secrets fit to be stored where there can be no reference, since the gateway itself made them, or got them over its API. */
export interface Seal {
  /**
   * The stored form: AES-256-GCM under the key, or, without a key, the secret as it is.
   *
   * @param place names the record, such as `webhook/<tenant>/<id>`: moved to another one, the stored form cannot be opened
   */
  seal(secret: string, place: string): string;
  /** The secret. One that was stored without a key is read with a key as well. @throws SecretErrors.sealed */
  open(stored: string, place: string): string;
  /** Whether `open` can read it. */
  opens(stored: string, place: string): boolean;
}

const PLAIN = 'plain.';
const SEALED = 'gcm1.';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Makes a seal.
 *
 * @param key text of the operator with the strength of 32 random characters; undefined: nothing is encrypted
 */
export function createSeal(key: string | undefined): Seal {
  const derived =
    key === undefined ? undefined : Buffer.from(hkdfSync('sha256', key, '', 'agent-gateway seal', 32));

  const seal: Seal = {
    seal(secret, place) {
      if (derived === undefined) return PLAIN + secret;
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', derived, nonce).setAAD(Buffer.from(place));
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return SEALED + Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64');
    },

    open(stored, place) {
      if (stored.startsWith(PLAIN)) return stored.slice(PLAIN.length);
      if (derived === undefined || !stored.startsWith(SEALED)) throw SecretErrors.sealed();
      const bytes = Buffer.from(stored.slice(SEALED.length), 'base64');
      const textAt = NONCE_BYTES + TAG_BYTES;
      try {
        const decipher = createDecipheriv('aes-256-gcm', derived, bytes.subarray(0, NONCE_BYTES), {
          authTagLength: TAG_BYTES,
        })
          .setAAD(Buffer.from(place))
          .setAuthTag(bytes.subarray(NONCE_BYTES, textAt));
        return Buffer.concat([decipher.update(bytes.subarray(textAt)), decipher.final()]).toString('utf8');
      } catch (cause) {
        throw SecretErrors.sealed(undefined, { cause });
      }
    },

    opens(stored, place) {
      try {
        seal.open(stored, place);
        return true;
      } catch {
        return false;
      }
    },
  };
  return seal;
}
