import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from 'agent-gateway';
import { statusOf } from '../rules/registration.ts';
import type { DeliveryStore } from '../store/deliveries.ts';
import type { GeneStore } from '../store/genes.ts';
import type { NodeStore } from '../store/nodes.ts';
import type { SubscriptionStore } from '../store/subscriptions.ts';

/** What a dashboard shows of each kind; of more it shows the number. */
const SHOWN = 100;
/** Milliseconds for which one picture is shown to all who look. */
const MAX_AGE_MS = 200;

/** The state of the hub in one picture. It names no owner and no path of a callback, since everybody who reads the hub may look. */
export interface Snapshots {
  take(): Promise<object>;
  /** Something is to be seen anew. */
  changed(): void;
  /** Resolves at the next change, but not before `least` milliseconds and not after `most`: time alone makes nodes expire. */
  nextChange(least: number, most: number, signal: AbortSignal): Promise<void>;
}

export function createSnapshots(parts: {
  readonly nodes: Pick<NodeStore, 'page'>;
  readonly genes: Pick<GeneStore, 'newest'>;
  readonly subscriptions: Pick<SubscriptionStore, 'page'>;
  readonly deliveries: Pick<DeliveryStore, 'counts'>;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
}): Snapshots {
  const { nodes, genes, subscriptions, deliveries, clock } = parts;
  const waiting = new Set<() => void>();
  let recent: { readonly at: number; readonly picture: Promise<object> } | undefined;

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
          ...{ gene_id: gene.geneId, name: gene.name, task_class: gene.taskClass, state, node_id: nodeId },
          ...{ confidence: gene.confidence, use_count: gene.useCount, updated_at: updatedAt.toISOString() },
        })),
      },
      subscriptions: {
        total: subscriptionCount,
        items: subscribed.map((row) => ({
          ...{ id: row.id, callback: originOf(row.callbackUrl), events: row.events },
          ...{
            delivered: row.delivered,
            failed_attempts: row.failedAttempts,
            is_failing: row.lastError !== null,
          },
          ...{ waiting: counts.get(row.id)?.waiting ?? 0, dead: counts.get(row.id)?.dead ?? 0 },
          last_attempt_at: row.lastAttemptAt?.toISOString() ?? null,
        })),
      },
    };
  }

  return {
    take() {
      const now = clock.monotonic();
      if (recent === undefined || now - recent.at > MAX_AGE_MS) recent = { at: now, picture: read() };
      const { picture } = recent;
      picture.catch(() => {
        if (recent?.picture === picture) recent = undefined;
      });
      return picture;
    },
    changed() {
      for (const wake of waiting) wake();
      waiting.clear();
    },
    async nextChange(least, most, signal) {
      if (signal.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, most);
      waiting.add(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
      // A change during the pause counts when it is over.
      await Promise.all([promise, pause(least)]);
      clearTimeout(timer);
      waiting.delete(resolve);
    },
  };
}

function originOf(url: string): string {
  return URL.parse(url)?.origin ?? '';
}
