import { KernelErrors } from '../base/error-catalogue.ts';
import { TransientMap } from '../base/transient.ts';

/** What a request body holds memory for: from its first counted byte to the end of its call. */
interface Held {
  readonly tenant: string;
  bytes: number;
}

/** Bytes of large bodies after which it is worth to collect what they have left. */
const WORTH_COLLECTING = 16 * 1024 * 1024;
/** Milliseconds without a large body until then. */
const QUIET = 5_000;

/**
 * Bounds the bytes of large request bodies that the process holds at one time (`SVC_MAX_BODY_BYTES_IN_FLIGHT`). Bodies
 * are counted as they come, so a slow sender holds what it has sent, and until their call is over, since their values
 * live as long. One tenant gets half of it at most.
 */
export class BodyBudget {
  readonly #limit: number;
  readonly #share: number;
  readonly #collect: (() => void) | undefined;
  readonly #calls = new TransientMap<object, Held>();
  readonly #tenants = new Map<string, number>();
  #held = 0;
  #sinceCollected = 0;
  #collecting: NodeJS.Timeout | undefined;

  /** @param collect collects garbage; called once large bodies have come to an end, where there is a way to do so */
  constructor(limit: number, collect?: () => void) {
    this.#limit = limit;
    this.#share = Math.floor(limit / 2);
    this.#collect = collect;
  }

  /** Bytes held now. */
  get held(): number {
    return this.#held;
  }

  /**
   * Throws 413 for what can never be held, in addition to what the call holds already, and 503 `gateway.overloaded` for
   * what cannot be held now.
   */
  check(tenant: string, bytes: number, already = 0): void {
    if (already + bytes > this.#share)
      throw KernelErrors.bodyTooLarge(`The body may hold ${this.#share} bytes at most`);
    const ofTenant = (this.#tenants.get(tenant) ?? 0) + bytes;
    if (ofTenant <= this.#share && this.#held + bytes <= this.#limit) return;
    throw KernelErrors.overloaded('Too many large bodies are being served', {
      headers: { 'retry-after': '1' },
    });
  }

  /** Counts `bytes` more for a call. Throws what `check` throws. */
  take(call: object, tenant: string, bytes: number): void {
    const held = this.#calls.get(call);
    this.check(tenant, bytes, held?.bytes);
    if (held === undefined) this.#calls.set(call, { tenant, bytes });
    else held.bytes += bytes;
    this.#add(tenant, bytes);
    clearTimeout(this.#collecting);
  }

  /** The call is over. */
  release(call: object): void {
    const held = this.#calls.get(call);
    if (held === undefined) return;
    this.#calls.delete(call);
    this.#add(held.tenant, -held.bytes);
    this.#sinceCollected += held.bytes;
    if (this.#collect === undefined || this.#calls.size > 0 || this.#sinceCollected < WORTH_COLLECTING)
      return;
    clearTimeout(this.#collecting);
    this.#collecting = setTimeout(() => {
      this.#sinceCollected = 0;
      this.#collect?.();
    }, QUIET).unref();
  }

  #add(tenant: string, bytes: number): void {
    this.#held += bytes;
    const ofTenant = (this.#tenants.get(tenant) ?? 0) + bytes;
    if (ofTenant === 0) this.#tenants.delete(tenant);
    else this.#tenants.set(tenant, ofTenant);
  }
}
