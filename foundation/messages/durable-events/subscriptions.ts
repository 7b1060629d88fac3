import { endsWithin } from '../../base/deadline.ts';
import { Type } from '../../base/type.ts';
import { type Database, isUniqueViolation } from '../../data/database.ts';
import { defineEvent, type Events } from '../events/events.ts';
import { JobRow } from '../jobs/job-table.ts';
import { SubscriptionRow } from './subscription-table.ts';

/** Where deliveries of an event go. */
export interface SubscribedQueue {
  readonly queue: string;
  /** Id of the event. */
  readonly event: string;
  readonly attempts: number;
}

/** How long things last, in milliseconds. */
export interface SubscriptionTimes {
  /** Between two looks into the table, which also say that the own subscriptions are there. */
  readonly refresh: number;
  /** After so long without a sign of life nothing is published for a subscription any more. */
  readonly live: number;
  /** After so long it is forgotten, with what still waits for it. */
  readonly keep: number;
}

const TIMES: SubscriptionTimes = { refresh: 60_000, live: 3_600_000, keep: 14 * 24 * 3_600_000 };

/** Milliseconds that the end waits for a look under way: a statement has far more where the database is silent. */
const CLOSE_LOOK_MS = 2_000;

interface SubscriptionsParts {
  readonly database: Pick<Database, 'system' | 'now'>;
  /** Notify other replicas of a new subscription. */
  readonly events: Pick<Events, 'emit' | 'on' | 'onMissed'>;
  readonly times?: Partial<SubscriptionTimes> | undefined;
  readonly onTrouble: (error: unknown) => void;
}

/** There is a new subscription. */
const SubscriptionsChanged = defineEvent('kernel.subscriptions-changed', Type.Object({}));

const NONE: readonly SubscribedQueue[] = [];

/**
 * Who subscribes to what, in the whole deployment: a replica publishes also for plugins that it does not run, or that
 * are being set up. Known from memory; the table is read at the start, every minute, and when another replica reports a
 * change.
 */
export async function openSubscriptions({ database, events, onTrouble, times }: SubscriptionsParts) {
  const { refresh: every, live, keep } = { ...TIMES, ...times };
  /**
   * The subscriptions that this process works on, each once for each worker: for a moment twice, with two generations
   * of a plugin.
   */
  const own: SubscribedQueue[] = [];
  /** Those that the table does not have yet, by queue: also when their plugin is gone again before it does. */
  const unnoted = new Map<string, SubscribedQueue>();
  let stored: readonly SubscribedQueue[] = [];
  let byEvent: ReadonlyMap<string, readonly SubscribedQueue[]> = new Map();
  let isClosed = false;
  let mustLookAgain = false;
  let looking: Promise<void> | undefined;

  function regroup(): void {
    // The own ones last: they are the newest of their queues.
    const byQueue = new Map([...stored, ...unnoted.values(), ...own].map((one) => [one.queue, one]));
    byEvent = Map.groupBy(byQueue.values(), ({ event }) => event);
  }

  /** Notes that the own subscriptions are live, and reads all. */
  async function look(): Promise<void> {
    const now = await database.now();
    const noted = new Map([...unnoted.values(), ...own].map((one) => [one.queue, one]));
    for (const one of noted.values()) await note(one, now);
    const rows = await database.system().find(SubscriptionRow, {}, { disableIdentityMap: true });
    stored = rows.filter(({ seenAt }) => Number(seenAt) > now - live);
    for (const [queue, one] of noted) if (unnoted.get(queue) === one) unnoted.delete(queue);
    regroup();
    for (const { queue, seenAt } of rows) if (Number(seenAt) <= now - keep) await forget(queue, now - keep);
  }

  async function note({ queue, ...rest }: SubscribedQueue, seenAt: number): Promise<void> {
    const system = database.system();
    if ((await system.nativeUpdate(SubscriptionRow, { queue }, { ...rest, seenAt })) > 0) return;
    await system.insert(SubscriptionRow, { queue, ...rest, seenAt }).catch((error: unknown) => {
      // Another replica has noted it at this moment.
      if (!isUniqueViolation(error)) throw error;
    });
  }

  async function forget(queue: string, before: number): Promise<void> {
    const system = database.system();
    const isGone = (await system.nativeDelete(SubscriptionRow, { queue, seenAt: { $lte: before } })) > 0;
    if (isGone) await system.nativeDelete(JobRow, { queue, state: { $in: ['waiting', 'scheduled'] } });
  }

  /** Looks now, or again when a look is under way. Never rejects. */
  function lookSoon(): Promise<void> {
    mustLookAgain = true;
    looking ??= (async () => {
      while (mustLookAgain && !isClosed) {
        mustLookAgain = false;
        await look().catch(onTrouble);
      }
      looking = undefined;
    })();
    return looking;
  }

  await look();
  const timer = setInterval(() => void lookSoon(), every).unref();
  const undo = [
    events.on(SubscriptionsChanged, (_, { origin }) => {
      if (origin === 'remote') void lookSoon();
    }),
    events.onMissed(() => void lookSoon()),
  ];

  return {
    of: (event: string): readonly SubscribedQueue[] => byEvent.get(event) ?? NONE,

    /**
     * From now on this process works on it. Returns a function that ends that; it stays known until it was not seen for
     * an hour.
     */
    add(one: SubscribedQueue): () => void {
      const isNew = !stored.some(({ queue, attempts }) => queue === one.queue && attempts === one.attempts);
      own.push(one);
      if (isNew) unnoted.set(one.queue, one);
      regroup();
      if (isNew) void lookSoon().then(() => events.emit(SubscriptionsChanged, {}));
      return () => {
        own.splice(own.indexOf(one), 1);
        regroup();
      };
    },

    async close(): Promise<void> {
      isClosed = true;
      clearInterval(timer);
      for (const end of undo) end();
      if (looking !== undefined) await endsWithin(CLOSE_LOOK_MS, looking);
    },
  };
}
