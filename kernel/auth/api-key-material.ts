import { hash } from 'node:crypto';
import type { Ids } from '../../foundation/base/ids.ts';

/** What every raw API key begins with (specification 1, API key). */
export const API_KEY_PREFIX = 'hk_';

/** The raw value of a new key and what is stored of it. */
export interface ApiKeyMaterial {
  readonly raw: string;
  /** SHA-256 of `raw` in hex. */
  readonly hash: string;
  /** First 8 characters of `raw`. */
  readonly prefix: string;
}

const RANDOM_BYTES = 32;
const VISIBLE_CHARACTERS = 8;

/** Makes the material of a key: `hk_` and 256 random bits in base64url (decisions 1.2). Throws when there is no randomness. */
export function generateApiKey(ids: Pick<Ids, 'bytes'>): ApiKeyMaterial {
  const raw = `${API_KEY_PREFIX}${ids.bytes(RANDOM_BYTES).toString('base64url')}`;
  return { raw, hash: hashApiKey(raw), prefix: raw.slice(0, VISIBLE_CHARACTERS) };
}

/** The SHA-256 of a raw key in hex: all that is ever stored of it. */
export function hashApiKey(raw: string): string {
  return hash('sha256', raw, 'hex');
}
