import type { Clock } from '../../base/clock.ts';
import { coalesced } from '../../base/coalesce.ts';
import type { Claim } from './claim.ts';
import type { Delegation } from './delegation.ts';
import type { LockStore } from './lock-store.ts';
import type { RedisStore } from './redis-store.ts';

/** The two stores of a claim, and what is known of which counts. */
export interface DelegatedStores {
  readonly database: LockStore;
  /** Absent where no Redis is configured: everything is in the database then. */
  readonly redis: RedisStore | undefined;
  readonly delegation: Delegation;
  readonly clock: Clock;
}

/** A lock in one store. */
interface Part {
  /** End of the lease, by our monotonic clock. */
  readonly until: number;
}

interface RedisPart extends Part {
  readonly dataset: string;
}

/** A claim to a lock that lies in Redis, in the database or in both: see README.md. */
export class DelegatedClaim implements Claim {
  fence = 0;
  readonly #stores: DelegatedStores;
  readonly #granted: Set<DelegatedClaim>;
  readonly #request: { readonly key: string; readonly lease: number; readonly ticket: string };
  #inRedis: RedisPart | undefined;
  #inDatabase: Part | undefined;
  /** Stores that may know the ticket. */
  #toldRedis = false;
  #toldDatabase = false;
  #isReleased = false;
  /** Until when the lock is known to be held. Once this has passed it is lost, whatever comes to be known later. */
  #horizon = Number.NEGATIVE_INFINITY;
  #renewing: Promise<unknown> = Promise.resolve();
  /** What was decided before the delegation changed may be wrong after it: a renewal that is asked for now begins now. */
  readonly #renewOnce = coalesced(() => this.#renew());

  constructor(
    stores: DelegatedStores,
    granted: Set<DelegatedClaim>,
    request: { key: string; lease: number; ticket: string },
  ) {
    this.#stores = stores;
    this.#granted = granted;
    this.#request = request;
  }

  /** Redis first, the database last: all do it in this order, and nobody keeps the latter while he waits for the former. */
  async attempt(inLine: boolean): Promise<boolean> {
    const { delegation, clock } = this.#stores;
    const line = inLine ? 'wait' : 'look';
    if (!delegation.knowledge.isFresh(clock.monotonic())) await delegation.beat();
    const usesRedis = this.#canUseRedis();
    if (usesRedis && !(await this.#takeInRedis(line, this.fence))) return false;
    if (!this.#mayBegin()) {
      if (!usesRedis && !delegation.knowledge.isDatabaseAlone(clock.monotonic())) return false;
      if (!(await this.#takeInDatabase(line, this.fence))) return false;
    }
    if (!this.#mayBegin()) {
      await this.#leaveDatabase();
      return false;
    }
    this.#granted.add(this);
    this.#horizon = Number.POSITIVE_INFINITY;
    this.heldUntil();
    if (this.#isOutsideRedis()) delegation.prolong();
    return true;
  }

  renew(): Promise<void> {
    const renewal = this.#renewOnce();
    this.#renewing = renewal.catch(() => {}); // told to whoever asked
    return renewal;
  }

  heldUntil(): number {
    const { clock, delegation } = this.#stores;
    const now = clock.monotonic();
    if (this.#horizon <= now) return this.#horizon;
    const inDatabase = this.#inDatabase?.until ?? Number.NEGATIVE_INFINITY;
    const inRedis = Math.min(
      this.#redisUntil(),
      Math.max(inDatabase, delegation.knowledge.redisAloneUntil()),
    );
    const alone = delegation.knowledge.databaseAlone();
    this.#horizon = Math.max(now, inRedis);
    // The database takes over without a gap, or not at all: in a gap another could have got the lock.
    if (alone.from <= this.#horizon) {
      this.#horizon = Math.max(this.#horizon, Math.min(inDatabase, alone.until));
    }
    return this.#horizon;
  }

  isHeldOutsideRedis(): boolean {
    return this.#isOutsideRedis() && this.heldUntil() > this.#stores.clock.monotonic();
  }

  /** True when the lock is held, but not where others look for it, or also where nobody does any more. */
  isMisplaced(): boolean {
    const now = this.#stores.clock.monotonic();
    if (this.heldUntil() <= now) return false;
    if (this.#isOutsideRedis()) return this.#canUseRedis() || this.#inDatabase === undefined;
    return (this.#inDatabase !== undefined) === this.#stores.delegation.knowledge.isRedisAlone(now);
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    this.#granted.delete(this);
    // A renewal may be about to take the lock in the other store.
    await this.#renewing;
    const { redis, database } = this.#stores;
    const { key, ticket } = this.#request;
    const request = { key, ticket, fence: this.fence };
    const told = [
      this.#toldRedis ? redis?.release(request) : undefined,
      this.#toldDatabase ? database.release(request) : undefined,
    ];
    this.#inRedis = undefined;
    this.#inDatabase = undefined;
    const failures = (await Promise.allSettled(told)).filter((result) => result.status === 'rejected');
    if (failures[0] !== undefined) throw failures[0].reason;
  }

  async #renew(): Promise<void> {
    // What is lost stays lost: its holder was told.
    if (this.#isReleased || this.heldUntil() <= this.#stores.clock.monotonic()) return;
    const results = await Promise.allSettled([this.#renewInRedis(), this.#renewInDatabase()]);
    if (this.#isOutsideRedis()) this.#stores.delegation.prolong();
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  async #renewInRedis(): Promise<void> {
    if (!this.#canUseRedis()) return;
    const { redis, clock } = this.#stores;
    const asked = clock.monotonic();
    const held = this.#inRedis;
    if (held !== undefined && (await redis!.renew({ ...this.#request, fence: this.fence }))) {
      this.#inRedis = { dataset: held.dataset, until: asked + this.#request.lease };
      return;
    }
    this.#inRedis = undefined;
    // Who holds the lock in the database alone brings it back to Redis.
    if (this.#inDatabase !== undefined) await this.#takeInRedis('look', this.fence - 1);
  }

  async #renewInDatabase(): Promise<void> {
    const { database, delegation, clock } = this.#stores;
    const asked = clock.monotonic();
    const isNeeded = this.#isOutsideRedis() || !delegation.knowledge.isRedisAlone(asked);
    if (this.#inDatabase === undefined) {
      if (isNeeded) await this.#takeInDatabase('jump', this.fence - 1);
    } else if (!isNeeded) {
      await this.#leaveDatabase();
    } else if (await database.renew({ ...this.#request, fence: this.fence })) {
      this.#inDatabase = { until: asked + this.#request.lease };
    } else {
      this.#inDatabase = undefined;
    }
  }

  /** @param above for a lock that is held the fence of the store reaches the lock's own, which stays as it is */
  async #takeInRedis(line: 'wait' | 'look', above: number): Promise<boolean> {
    const asked = this.#stores.clock.monotonic();
    this.#toldRedis = true;
    const grant = await this.#stores.redis!.take({ ...this.#request, line, above });
    this.#inRedis =
      grant === undefined ? undefined : { dataset: grant.dataset, until: asked + this.#request.lease };
    if (grant !== undefined && !this.#granted.has(this)) this.fence = grant.fence;
    return grant !== undefined;
  }

  async #takeInDatabase(line: 'wait' | 'look' | 'jump', above: number): Promise<boolean> {
    const asked = this.#stores.clock.monotonic();
    this.#toldDatabase = true;
    const grant = await this.#stores.database.take({ ...this.#request, line, above });
    this.#inDatabase = grant === undefined ? undefined : { until: asked + this.#request.lease };
    if (grant !== undefined && !this.#granted.has(this)) this.fence = grant.fence;
    return grant !== undefined;
  }

  async #leaveDatabase(): Promise<void> {
    this.#inDatabase = undefined;
    const { key, ticket } = this.#request;
    await this.#stores.database.release({ key, ticket, fence: this.fence });
  }

  /** True when the Redis that answers has the data to which locks are delegated. */
  #canUseRedis(): boolean {
    const dataset = this.#stores.redis?.dataset();
    return dataset !== undefined && dataset === this.#stores.delegation.knowledge.dataset;
  }

  #isOutsideRedis(): boolean {
    return this.#redisUntil() <= this.#stores.clock.monotonic();
  }

  #redisUntil(): number {
    if (this.#inRedis === undefined) return Number.NEGATIVE_INFINITY;
    return Math.min(
      this.#inRedis.until,
      this.#stores.delegation.knowledge.datasetUntil(this.#inRedis.dataset),
    );
  }

  /** True when nobody else can have the lock now. To begin with the database alone asks for more than to go on with it. */
  #mayBegin(): boolean {
    const { knowledge } = this.#stores.delegation;
    const now = this.#stores.clock.monotonic();
    const isInDatabase = this.#inDatabase !== undefined && this.#inDatabase.until > now;
    if (this.#redisUntil() > now) return isInDatabase || knowledge.isRedisAlone(now);
    return isInDatabase && knowledge.isDatabaseAlone(now);
  }
}
