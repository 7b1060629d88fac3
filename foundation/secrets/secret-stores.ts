import { createSharedCache, LookupErrors } from '../base/cache.ts';
import type { Clock } from '../base/clock.ts';
import { orAborted } from '../base/deadline.ts';
import type { GatewayError } from '../base/gateway-error.ts';
import { lacksOffer, offerNamed } from '../base/offers.ts';
import type { FormOf } from '../code/contribution-form.ts';
import { SecretErrors } from './secret-file.ts';
import type { StoreReference } from './secret-reference.ts';

/** Which secret is wanted. */
export interface WantedSecret {
  /** Segments of letters, digits and `_ . @ = + : -` with `/` between them, none of them `.` or `..`. */
  readonly path: string;
  /** A member of the secret, behind `#` in the reference; undefined: the secret itself. */
  readonly key: string | undefined;
  /**
   * For whom it is used. Undefined where the operator wrote the reference, or where that is not known: the gateway has
   * checked that the author of the reference may name it.
   */
  readonly tenantId: string | undefined;
  /** Aborts after 5 seconds. */
  readonly signal: AbortSignal;
}

/**
 * Secrets that a plugin finds elsewhere, such as in a vault. References name it: `plugin/acme/vault:team/slack#token`.
 */
export interface SecretStore {
  /** `plugin/<plugin>/<name>`, in lower-case letters, digits, `.`, `_` and `-`. */
  readonly name: string;
  /**
   * The secret now, 1 to 65,536 characters without U+0000; undefined where there is none. The gateway keeps it in
   * memory for `SVC_SECRET_MAX_AGE` at most, reads it again in the background from half of that on, hides it in the
   * log, and asks once for all callers that wait. What is thrown is `secret.unreadable`, but for errors of
   * `SecretErrors`; the words of neither are shown.
   */
  read(wanted: WantedSecret): Promise<string | undefined>;
}

/** The extension point to which plugins contribute stores. */
export const SECRET_STORES = 'gateway.secret-stores';
/** What is asked of each. */
export const SECRET_STORE: FormOf<SecretStore> = { name: 'text', read: 'function' };

/** The secrets of plugins' stores. */
export type StoredSecrets = ReturnType<typeof createStoredSecrets>;

/** What they are read with. */
export interface StoredSecretsParts {
  /** The stores that plugins contribute now. */
  readonly stores: () => readonly SecretStore[];
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Milliseconds for which a value is used: `SVC_SECRET_MAX_AGE`. */
  readonly maxAge: number;
}

/** Milliseconds that a store may take. */
const DEADLINE = 5_000;
/** A little later, so that the signal of the store aborts first. */
const LOOKUP_DEADLINE = 6_000;
const MAX_SECRETS = 1_000;
const MAX_CHARS = 65_536;

interface Kept {
  readonly secret: string;
}

/**
 * Reads from stores, which may come and go: what was read from one that is gone, or was exchanged, is not used any
 * more.
 */
export function createStoredSecrets({ stores, clock, maxAge }: StoredSecretsParts) {
  const caches = new WeakMap<SecretStore, ReturnType<typeof cacheOf>>();

  function cacheOf(store: SecretStore) {
    return createSharedCache<Kept | undefined>({
      load: async (question) => {
        const signal = AbortSignal.timeout(DEADLINE);
        const { path, key, tenantId } = JSON.parse(question) as Omit<WantedSecret, 'signal'>;
        const asked = Promise.resolve(store.read({ path, key, tenantId, signal }));
        const secret = await orAborted(asked, signal);
        return secret === undefined ? undefined : { secret };
      },
      clock,
      maxAge,
      refreshAfter: maxAge / 2,
      maxEntries: MAX_SECRETS,
      // What a store of a plugin gives may be anything, also what is no text and cannot become one.
      weigh: ({ secret }) => (typeof secret === 'string' ? secret.length : 0),
      deadline: LOOKUP_DEADLINE,
    });
  }

  return {
    /**
     * The value behind a reference. The caller has checked that the author of the reference may name it.
     *
     * @throws SecretErrors.storeMissing, .notFound, .unusable, .unreadable, and .refused where the store refuses
     */
    async read(
      { text, store: name, path, key }: StoreReference,
      tenantId: string | undefined,
    ): Promise<string> {
      const offers = stores();
      const store = offerNamed(name, offers);
      if (store === undefined) throw SecretErrors.storeMissing(lacksOffer(text, name, offers));
      const cache = caches.get(store) ?? cacheOf(store);
      caches.set(store, cache);
      let kept: Kept | undefined;
      try {
        kept = await cache.get(JSON.stringify({ path, key, tenantId }));
      } catch (error) {
        throw failureOf(error, text);
      }
      if (kept === undefined || kept.secret === '') throw SecretErrors.notFound(`${text} does not exist`);
      return usable(kept.secret, text);
    },
  };
}

function usable(secret: unknown, text: string): string {
  if (typeof secret !== 'string') throw SecretErrors.unusable(`${text} is not a text`);
  if (secret.length > MAX_CHARS) throw SecretErrors.unusable(`${text} has more than ${MAX_CHARS} characters`);
  if (secret.includes('\0')) throw SecretErrors.unusable(`${text} holds a zero byte`);
  return secret;
}

/** In words of our own: those of the store may hold anything. */
function failureOf(cause: unknown, text: string): GatewayError {
  if (SecretErrors.notFound.is(cause)) return SecretErrors.notFound(`${text} does not exist`, { cause });
  if (SecretErrors.refused.is(cause))
    return SecretErrors.refused(`${text} is refused by its store`, { cause });
  const isLate = LookupErrors.unavailable.is(cause) || (cause as Error)?.name === 'TimeoutError';
  return SecretErrors.unreadable(`${text} cannot be read ${isLate ? 'in time' : 'from its store'}`, {
    cause,
  });
}
