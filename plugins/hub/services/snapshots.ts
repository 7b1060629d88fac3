import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, createSharedCache, TransientSet } from 'agent-gateway';
import { reporterOf } from '../rules/hub-gene.ts';
import { statusOf } from '../rules/registration.ts';
import type { DeliveryStore } from '../store/deliveries.ts';
import type { GeneStore } from '../store/genes.ts';
import type { NodeStore } from '../store/nodes.ts';
import type { SubscriptionStore } from '../store/subscriptions.ts';

/** Entries of each kind that the dashboard lists; it shows the total number as well. */
const SHOWN = 100;
/** Milliseconds for which all readers get the same snapshot. */
const MAX_AGE_MS = 200;
/** Milliseconds for which a snapshot is waited for: as long as one statement may take. */
const DEADLINE_MS = 30_000;

/**
 * Snapshots of the state of the hub. They name no owner and no path of a callback, since every caller that may read the
 * hub gets them.
 */
export function createSnapshots(parts: {
  readonly nodes: Pick<NodeStore, 'page'>;
  readonly genes: Pick<GeneStore, 'newest'>;
  readonly subscriptions: Pick<SubscriptionStore, 'page'>;
  readonly deliveries: Pick<DeliveryStore, 'counts'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
}) {
  const { nodes, genes, subscriptions, deliveries, clock } = parts;
  const waiting = new TransientSet<() => void>();
  let isClosed = false;
  const recent = createSharedCache<object>({
    clock,
    load: read,
    maxAge: MAX_AGE_MS,
    maxEntries: 1,
    deadline: DEADLINE_MS,
  });

  async function read(): Promise<object> {
    const now = new Date(clock.now());
    const page = { limit: SHOWN, offset: 0 };
    const [allNodes, nodeCount] = await nodes.page(page);
    const [allGenes, geneCount] = await genes.newest(SHOWN);
    const [subscribed, subscriptionCount] = await subscriptions.page(undefined, page);
    const counts = await deliveries.counts(subscribed.map(({ id }) => id));
    return {
      nodes: {
        total: nodeCount,
        items: allNodes.map((node) => ({
          node_id: node.id,
          status: statusOf(node, now),
          endpoint: originOf(node.endpoint),
          capabilities: node.capabilities,
          last_seen_at: node.lastSeenAt.toISOString(),
        })),
      },
      genes: {
        total: geneCount,
        items: allGenes.map(({ gene, nodeId, state, updatedAt }) => ({
          gene_id: gene.geneId,
          name: gene.name,
          task_class: gene.taskClass,
          state,
          node_id: reporterOf(gene, nodeId),
          confidence: gene.confidence,
          use_count: gene.useCount,
          updated_at: updatedAt.toISOString(),
        })),
      },
      subscriptions: {
        total: subscriptionCount,
        items: subscribed.map((row) => ({
          id: row.id,
          callback: originOf(row.callbackUrl),
          events: row.events,
          delivered: row.delivered,
          failed_attempts: row.failedAttempts,
          is_failing: row.lastError !== null,
          waiting: counts.get(row.id)?.waiting ?? 0,
          dead: counts.get(row.id)?.dead ?? 0,
          last_attempt_at: row.lastAttemptAt?.toISOString() ?? null,
        })),
      },
    };
  }

  /** Notifies readers that the state has changed. */
  function changed(): void {
    for (const wake of waiting) wake();
    waiting.clear();
  }

  return {
    take: async () => recent.get('state'),
    changed,
    /**
     * Waits for the next change, but not less than `least` milliseconds and not more than `most`: nodes expire without
     * any event. False when the reader has to end.
     */
    async nextChange(least: number, most: number, signal: AbortSignal): Promise<boolean> {
      if (signal.aborted || isClosed) return false;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, most);
      waiting.add(resolve);
      const stop = () => resolve();
      signal.addEventListener('abort', stop);
      // A change during the pause is reported at its end.
      await Promise.all([promise, pause(least)]);
      clearTimeout(timer);
      waiting.delete(resolve);
      signal.removeEventListener('abort', stop);
      return !signal.aborted && !isClosed;
    },
    /** Ends all readers. */
    close(): void {
      isClosed = true;
      changed();
    },
  };
}

function originOf(url: string): string {
  return URL.parse(url)?.origin ?? '';
}
