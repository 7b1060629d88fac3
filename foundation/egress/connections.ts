import { createRequire } from 'node:module';
import type { LookupFunction } from 'node:net';
import type { Dispatcher, Pool } from 'undici';
import { KernelErrors } from '../base/error-catalogue.ts';
import type { Admission } from './admission.ts';
import type { EgressBounds } from './egress.ts';
import { EgressErrors } from './errors.ts';
import type { Target } from './target.ts';

/** A place among a tenant's connections to one origin, for one request. */
interface Lease {
  readonly dispatcher: Dispatcher;
  /** Says that the request holds nothing of the dispatcher any more. Once. */
  release(): void;
}

/** The pooled connections of all tenants: none is ever used for two of them. */
export type Connections = ReturnType<typeof createConnections>;

const MAX_RESPONSE_HEADERS = 32_768;

/** Loaded with the first request that leaves: many a gateway sends none for long. */
const loadUndici = (): typeof import('undici') => createRequire(import.meta.url)('undici');

interface Origin {
  readonly tenantId: string;
  readonly pool: Pool;
  open: number;
}

/**
 * Makes an empty pool. Every connection goes to an address that `admission` has let pass, looked up there and nowhere
 * else.
 */
export function createConnections(admission: Pick<Admission, 'addressesOf'>, bounds: EgressBounds) {
  // The one that was used last is at the end.
  const origins = new Map<string, Origin>();
  const openOf = new Map<string, number>();
  let open = 0;
  let isClosed = false;

  function openOrigin(key: string, tenantId: string, target: Target): Origin {
    const pool = new (loadUndici().Pool)(target.url.origin, {
      connections: bounds.connectionsPerOrigin,
      pipelining: 1,
      allowH2: false,
      connect: { timeout: bounds.connectTimeout, lookup: checkedLookup(admission, target) },
      keepAliveTimeout: bounds.keepAlive,
      // A server may ask for less, not for more.
      keepAliveMaxTimeout: bounds.keepAlive,
      maxHeaderSize: MAX_RESPONSE_HEADERS,
      // The deadlines of a request are its own, see `Lifetime`.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const origin = { tenantId, pool, open: 0 };
    pool.on('disconnect', () => {
      if (origin.open === 0 && pool.stats.connected === 0) drop(key, origin);
    });
    return origin;
  }

  function drop(key: string, origin: Origin): void {
    if (origins.get(key) !== origin) return;
    origins.delete(key);
    void origin.pool.destroy();
  }

  /** Closes what was unused longest where more is unused than the bounds say. */
  function trim(tenantId: string): void {
    const idle = [...origins].filter(([, origin]) => origin.open === 0);
    const own = idle.filter(([, origin]) => origin.tenantId === tenantId);
    const excess = Math.max(0, idle.length - bounds.idleOrigins);
    const ownExcess = Math.max(0, own.length - bounds.idleOriginsPerTenant);
    for (const [key, origin] of [...idle.slice(0, excess), ...own.slice(0, ownExcess)]) drop(key, origin);
  }

  function count(account: string, change: 1 | -1): void {
    open += change;
    const ofAccount = (openOf.get(account) ?? 0) + change;
    if (ofAccount === 0) openOf.delete(account);
    else openOf.set(account, ofAccount);
  }

  return {
    /**
     * Throws `egress.busy` when too many requests are open (of the account, in all), `gateway.draining` after the end.
     */
    lease(tenantId: string, target: Target, account: string): Lease {
      if (isClosed) throw KernelErrors.draining();
      if (open >= bounds.open || (openOf.get(account) ?? 0) >= bounds.openPerTenant) {
        throw EgressErrors.busy();
      }
      // A tenant id holds no blank.
      const key = `${tenantId} ${target.url.origin}`;
      const origin = origins.get(key) ?? openOrigin(key, tenantId, target);
      origins.delete(key);
      origins.set(key, origin);
      origin.open += 1;
      count(account, 1);
      return {
        dispatcher: origin.pool,
        release() {
          origin.open -= 1;
          count(account, -1);
          if (origin.open === 0) trim(tenantId);
        },
      };
    },
    /** Breaks everything, open requests too. */
    async close(): Promise<void> {
      isClosed = true;
      const pools = [...origins.values()].map(({ pool }) => pool);
      origins.clear();
      await Promise.all(pools.map((pool) => pool.destroy(KernelErrors.draining())));
    },
  };
}

/**
 * What a socket asks for the addresses of its host: those that were checked, so that the name is not resolved a second
 * time.
 */
function checkedLookup(admission: Pick<Admission, 'addressesOf'>, { host, port }: Target): LookupFunction {
  return (_hostname, { all }, callback) => {
    admission.addressesOf({ host, port }).then(
      (addresses) => {
        const answers = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
        const [first] = answers;
        if (all === true || first === undefined) callback(null, answers);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}
