import { createSeal, type Logger, type Scope } from 'agent-gateway';
import type { GeneExchange, HubAddresses, SharingPolicies } from '../../evolution/contract.ts';
import type { HubSettings } from '../config.ts';
import { contentOf, sayingsOf } from '../rules/hub-gene.ts';
import { createDeliveryStore } from '../store/deliveries.ts';
import { createGeneStore, type GeneStore } from '../store/genes.ts';
import { createKeyStore } from '../store/keys.ts';
import { createNodeStore } from '../store/nodes.ts';
import { createSubscriptionStore } from '../store/subscriptions.ts';
import type { EventRow } from '../store/tables.ts';
import { createAnnouncements } from './announcements.ts';
import { createDispatcher, type Dispatcher } from './dispatcher.ts';
import { createEnvelopes } from './envelopes.ts';
import { createEvents } from './events.ts';
import { createFederation } from './federation.ts';
import { createHubCalls } from './hub-calls.ts';
import { createKeys, resealKeys } from './keys.ts';
import { createMembership } from './membership.ts';
import type { HubMetrics } from './metrics.ts';
import { createNodes } from './nodes.ts';
import { openHubDatabase } from './open-database.ts';
import { createSendSigned } from './requests.ts';
import { createSendEvent } from './send-event.ts';
import { createSnapshots } from './snapshots.ts';
import { createSubscriptions } from './subscriptions.ts';
import { createTombstones } from './tombstones.ts';

/** What other plugins provide; each may be absent. */
export interface Experience {
  readonly exchange?: GeneExchange | undefined;
  readonly policies?: SharingPolicies | undefined;
  readonly addresses?: HubAddresses | undefined;
}

/** The hub, and this gateway as a node of other hubs. */
export type Hub = Awaited<ReturnType<typeof openHub>>;

/** Milliseconds for which dead letters are kept, and at least for which an event that is reported again is known. */
const KEEP_DEAD_MS = 30 * 86_400_000;
const KEEP_EVENTS_MS = 45 * 86_400_000;

/** Puts the parts together. */
export async function openHub(parts: {
  readonly services: Scope['services'];
  readonly settings: HubSettings;
  readonly backoff: readonly number[];
  readonly experience: Experience;
  readonly metrics: HubMetrics;
  readonly log: Logger;
}) {
  const { services, settings, backoff, experience, metrics, log } = parts;
  const { clock: ownClock, ids, egress, jobs, version } = services;
  const { exchange, policies, addresses } = experience;
  const { database, isAlone, close } = await openHubDatabase(services, settings.db_path);
  // For what replicas store and compare. Envelopes go by this process's clock, as at the gateways that sign and verify
  // the others.
  const { clock } = database;

  const nodeStore = createNodeStore(database);
  const deliveries = createDeliveryStore(database);
  const subscriptionStore = createSubscriptionStore(database);
  const genes = createGeneStore(database);
  if (isAlone) await deliveries.releaseAll();
  const seal = createSeal(settings.secret_key, settings.secret_key_previous);
  const keyStore = createKeyStore(database);
  await resealKeys(keyStore, seal);
  const keys = createKeys({ store: keyStore, seal, clock, overlap: settings.key_overlap });
  const snapshots = createSnapshots({
    nodes: nodeStore,
    genes,
    subscriptions: subscriptionStore,
    deliveries,
    clock,
  });
  const { changed } = snapshots;

  // The dispatcher needs parts that are made below; no caller wakes it before.
  let dispatcher: Dispatcher | undefined;
  const wake = () => dispatcher?.wake();

  const node = async () => {
    const key = await keys.node();
    return { id: addresses?.senderId ?? `gateway-${key.id.slice('hub-'.length)}`, key };
  };
  const hubs = addresses?.hubs ?? [];
  const calls = createHubCalls({ hubs, node, clock: ownClock, ids });
  const send = createSendSigned({ egress, clock: ownClock, ids, version });

  const envelopes = createEnvelopes({
    nodes: nodeStore,
    clock: ownClock,
    // This gateway may be a node of its own hub.
    hubKey: async (id) =>
      (await keys.published()).find((key) => key.id === id)?.publicKey ?? (await calls.hubKey(id)),
  });
  const events = createEvents({
    genes,
    deliveries,
    subscriptions: subscriptionStore,
    clock,
    ids,
    wake,
    hasOwn: exchange !== undefined,
    counted: metrics.event,
  });
  dispatcher = createDispatcher({
    deliveries,
    subscriptions: subscriptionStore,
    genes,
    backoff,
    clock,
    ids,
    log,
    changed,
    send: createSendEvent({ send, keys, clock }),
    apply: exchange === undefined ? async () => {} : createApply({ exchange, genes }),
    counted: metrics.attempt,
  });
  const endpoint = settings.public_url?.replace(/\/+$/, '');
  const membership =
    endpoint === undefined || hubs.length === 0
      ? undefined
      : createMembership({ hubs, calls, node, endpoint, clock, log });
  const announcements =
    exchange === undefined || policies === undefined
      ? undefined
      : createAnnouncements({ hubs, calls, membership, node, exchange, policies, genes, jobs, log });

  return {
    keys,
    envelopes,
    events,
    membership,
    announcements,
    snapshots,
    dispatcher,
    nodes: createNodes({ store: nodeStore, egress, clock, changed }),
    search: createFederation({
      nodes: nodeStore,
      keys,
      send,
      clock,
      ids,
      log,
      tombstones: createTombstones(genes, clock),
      counted: metrics.call,
    }),
    subscriptions: createSubscriptions({
      store: subscriptionStore,
      deliveries,
      keys,
      egress,
      clock,
      ids,
      wake,
      changed,
    }),
    /**
     * Deletes expired hashes of envelopes, old dead letters, and events to which no delivery refers. The signal ends it
     * early.
     */
    async expire(signal: AbortSignal): Promise<void> {
      const now = clock.now();
      await nodeStore.forgetSpent(new Date(ownClock.now()), signal);
      await deliveries.expire(new Date(now - KEEP_DEAD_MS), new Date(now - KEEP_EVENTS_MS), signal);
    },
    close,
  };
}

/**
 * Makes the function that applies an event of the network to this gateway: it offers a promoted gene to the tenants
 * that consume, and withdraws a revoked one from all tenants that have it. A node can revoke only what it alone has
 * learned: a content that another node has promoted as well stays. Of what another hub delivers, that hub knows it.
 */
function createApply(parts: {
  readonly exchange: GeneExchange;
  readonly genes: Pick<GeneStore, 'isHeldByOthers'>;
}): (event: EventRow) => Promise<void> {
  const { exchange, genes } = parts;
  return async ({ type, gene: reported, nodeId, stillPromoted }) => {
    if (type === 'gene_promoted') {
      await exchange.offerToAll([reported]);
      return;
    }
    const kept = stillPromoted?.split(',');
    for (const { said, gene } of sayingsOf(reported))
      if (!kept?.includes(said) && !(await genes.isHeldByOthers(nodeId, contentOf(gene))))
        await exchange.withdraw([gene]);
  };
}
