import { coalesced } from '../../base/coalesce.ts';
import type { Ids } from '../../base/ids.ts';
import type { Claims } from './claim.ts';
import { DelegatedClaim, type DelegatedStores } from './delegated-claim.ts';

/** Claims to locks in Redis where it may grant them, and in the database otherwise: see README.md. */
export interface DelegatedClaims extends Claims {
  /** True when locks are held here that are not in Redis. */
  isOutsideRedis(): boolean;
  /** Brings what is held to where it belongs now; to be called after each reading of the delegation. */
  attend(): void;
}

/** Locks that are brought to another store at one time. */
const MOVES = 8;

export function createDelegatedClaims(stores: DelegatedStores, ids: Ids): DelegatedClaims {
  const { database, redis, delegation } = stores;
  const granted = new Set<DelegatedClaim>();
  const attend = coalesced(async () => {
    const misplaced = [...granted].filter((claim) => claim.isMisplaced()).values();
    const worker = async () => {
      // What cannot be moved now is moved after a later reading, or lost when its time is over; its holder learns of it then.
      for (const claim of misplaced) await claim.renew().catch(() => {});
    };
    await Promise.all(Array.from({ length: MOVES }, worker));
  });
  return {
    claim: (key, lease) => new DelegatedClaim(stores, granted, { key, lease, ticket: ids.opaque() }),
    isOutsideRedis: () => granted.values().some((claim) => claim.isHeldOutsideRedis()),
    attend() {
      // A lock whose time passed unnoticed, because this process stood still, is lost whatever the reading says.
      for (const claim of granted) claim.heldUntil();
      void attend();
    },
    onFree(listener) {
      database.onFree(listener);
      redis?.onFree(listener);
    },
    async close() {
      await delegation.close();
      await Promise.all([database.close(), redis?.close()]);
    },
  };
}
