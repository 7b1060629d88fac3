import type { Clock } from '../base/clock.ts';
import type { Redis } from '../redis/redis.ts';
import type { LeasePlace } from './lease-request.ts';
import type { LeaseStore, LeaseTicket, Renewal } from './lease-store.ts';

/** The two stores, and the connection that says which of them is asked. */
export interface RedisFirstParts {
  /** In Redis. */
  readonly first: LeaseStore;
  /** In the database. */
  readonly second: LeaseStore;
  readonly redis: Pick<Redis, 'isUp' | 'onChange'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/**
 * Milliseconds after Redis went or came back in which a waiter is not granted anything: the holders take their leases
 * in the other store first. Replicas learn of it within a second of each other, mostly.
 */
const HANDOVER_MS = 2_000;

/**
 * Leases in Redis, and in the database while Redis is away. When that changes, holders renew at once, so that their
 * leases are where the other replicas look. A holder gets into the database beyond the limit if need be: a lease that
 * is held is not taken away. From then on it is in both stores. While replicas disagree about Redis, a name may be held
 * twice, and a limit be reached twice; README.md says why that is accepted.
 */
export function createRedisFirstStore({ first, second, redis, clock }: RedisFirstParts): LeaseStore {
  /** Tickets that hold a lease in the second store. */
  const inSecond = new Set<string>();
  let changedAt = Number.NEGATIVE_INFINITY;
  redis.onChange(() => {
    changedAt = clock.monotonic();
  });

  /** The first store's answer; `undefined` where it gives none, which the connection logs. */
  async function askFirst<T>(question: (store: LeaseStore) => Promise<T>): Promise<T | undefined> {
    return redis.isUp() ? question(first).catch(() => undefined) : undefined;
  }

  /** Asks both stores; rejects when neither answers. */
  async function askBoth<T>(question: (store: LeaseStore) => Promise<T | undefined>): Promise<T | undefined> {
    const answers = await Promise.allSettled([question(first), question(second)]);
    const [one, other] = answers;
    if (one.status === 'rejected' && other.status === 'rejected') throw other.reason;
    return answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : undefined)).find(Boolean);
  }

  async function move(ticket: LeaseTicket): Promise<Renewal> {
    const outcome = await second.take({ ...ticket, limit: 2 * ticket.limit }, false);
    if (outcome !== 'granted') return 'gone';
    inSecond.add(ticket.id);
    return 'held';
  }

  return {
    isLeased: true,

    async take(ticket, inLine) {
      const isHandover = () => inLine && clock.monotonic() - changedAt < HANDOVER_MS;
      if (isHandover()) return 'held';
      const answer = await askFirst((store) => store.take(ticket, inLine));
      if (answer !== undefined) return answer;
      if (isHandover()) return 'held';
      const outcome = await second.take(ticket, inLine);
      if (outcome === 'granted') inSecond.add(ticket.id);
      return outcome;
    },

    async renew(ticket) {
      const answer = await askFirst((store) => store.renew(ticket));
      if (!inSecond.has(ticket.id)) return answer ?? move(ticket);
      const other = await second.renew(ticket).catch((error: unknown) => {
        if (answer === undefined) throw error;
        return undefined;
      });
      const answers = [answer, other];
      return (['revoked', 'held'] as const).find((outcome) => answers.includes(outcome)) ?? 'gone';
    },

    async release(ticket) {
      const stores = inSecond.delete(ticket.id) ? [second, first] : [first];
      const answers = await Promise.allSettled(stores.map((store) => store.release(ticket)));
      if (answers[0]?.status === 'rejected') throw answers[0].reason;
      return answers.some((answer) => answer.status === 'fulfilled' && answer.value);
    },

    revoke: (place: LeasePlace) => askBoth((store) => store.revoke(place)),
    find: (place: LeasePlace) => askBoth((store) => store.find(place)),
    async list(key: string) {
      // A lease that was moved is in both: the first store's answer counts.
      const [one, other] = await Promise.allSettled([first.list(key), second.list(key)]);
      if (one.status === 'rejected' && other.status === 'rejected') throw other.reason;
      const found = [other, one].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
      return [...new Map(found.map((held) => [held.name, held])).values()];
    },
    onHandover: (listener) => redis.onChange(listener),
  };
}
