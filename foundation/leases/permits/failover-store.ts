import type { Logger } from '../../observability/logger.ts';
import type { PermitStore, Place, Ticket } from './permit-store.ts';

/** The two stores, and who is told of an outage. */
export interface FailoverParts {
  /** Used while it answers. */
  readonly first: PermitStore;
  /** Used when the first does not. */
  readonly second: PermitStore;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/**
 * Places in the first store, and in the second while the first does not answer. A holder who cannot renew in the first gets a place in the
 * second, beyond its limit if need be: who is in is not put out. So a change of stores may let in up to twice the limit
 * for as long as those who are in stay; README.md says why that is accepted.
 */
export function createFailoverStore({ first, second, log }: FailoverParts): PermitStore {
  /** Tickets that hold a place in the second store. */
  const moved = new Set<string>();
  let isFailing = false;

  /** Asks the first store, or the second when that fails. */
  async function ask<T>(
    question: (store: PermitStore) => Promise<T>,
    otherwise: () => Promise<T>,
  ): Promise<T> {
    let answer: T;
    try {
      answer = await question(first);
    } catch (err) {
      if (!isFailing) log.warn({ err }, 'Redis fails: permits are taken in the database until it is back');
      isFailing = true;
      return otherwise();
    }
    if (isFailing) log.info('Redis is back: permits use it again');
    isFailing = false;
    return answer;
  }

  /** Asks both stores; rejects when neither answers. */
  async function askBoth<T>(
    question: (store: PermitStore) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const answers = await Promise.allSettled([question(first), question(second)]);
    for (const answer of answers) {
      if (answer.status === 'fulfilled' && answer.value !== undefined) return answer.value;
    }
    const [one, other] = answers;
    if (one.status === 'rejected' && other.status === 'rejected') throw one.reason;
    return undefined;
  }

  const isHere = ({ ticket }: Ticket) => moved.has(ticket);

  return {
    isLeased: true,

    take: (place) =>
      ask(
        (store) => store.take(place),
        async () => {
          const outcome = await second.take(place);
          if (outcome === 'granted') moved.add(place.ticket);
          return outcome;
        },
      ),

    renew(place) {
      if (isHere(place)) return second.renew(place);
      return ask(
        (store) => store.renew(place),
        async () => {
          const outcome = await second.take({ ...place, limit: 2 * place.limit });
          if (outcome !== 'granted') return 'gone';
          moved.add(place.ticket);
          return 'held';
        },
      );
    },

    async release(place) {
      // A place that was moved is still in the first store, until its lease ends.
      const told = moved.delete(place.ticket)
        ? [second.release(place), first.release(place)]
        : [first.release(place)];
      const [outcome] = await Promise.allSettled(told);
      if (outcome?.status === 'rejected') throw outcome.reason;
    },

    revoke: (place: Place) => askBoth((store) => store.revoke(place)),
    find: (place: Place) => askBoth((store) => store.find(place)),

    async close() {
      await Promise.all([first.close(), second.close()]);
    },
  };
}
