import { createHash } from 'node:crypto';
import type { Clock, Ids } from 'agent-gateway';
import type { HubEvent } from '../contract.ts';
import { ANONYMOUS, contentOf, type HubGene, readGene, SAYINGS, sayingsOf } from '../rules/hub-gene.ts';
import type { DeliveryStore } from '../store/deliveries.ts';
import { confidenceOf, type GeneStore } from '../store/genes.ts';
import type { SubscriptionStore } from '../store/subscriptions.ts';
import type { DeliveryRow, EventRow, SubscriptionRow } from '../store/tables.ts';
import { HubErrors } from './errors.ts';

/** Genes of one node that the hub remembers. */
const MAX_GENES = 10_000;
/** Waiting deliveries of one subscription; further ones are dead letters at once. */
const MAX_WAITING = 10_000;
const FULL = 'So many deliveries waited that no more were taken.';

/** The subscription of this gateway itself, which receives reported events as other subscribers do. */
export const OWN = 'own';

/** An event that a node reports. */
export interface Reported {
  readonly type: HubEvent;
  readonly gene: HubGene;
  /** The node's own name for the event: reported again, it counts once. */
  readonly key: string | undefined;
  /** Of a revocation: what of the gene's sayings other nodes still promote, as the hub says that delivers it. */
  readonly stillPromoted?: readonly string[] | undefined;
}

/** The outcome for a reported event. */
export interface Accepted {
  readonly id: string;
  /** 0 for an event that was accepted before. */
  readonly deliveries: number;
}

/** Accepts the events that nodes report, and stores a delivery for each subscriber. */
export function createEvents(parts: {
  readonly genes: GeneStore;
  readonly deliveries: Pick<DeliveryStore, 'accept' | 'event' | 'full' | 'waitAtLeast'>;
  readonly subscriptions: Pick<SubscriptionStore, 'thatWant'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Pick<Ids, 'uuid'>;
  /** Whether this gateway does anything with genes. */
  readonly hasOwn: boolean;
  /** Notifies the dispatcher that something is due. */
  readonly wake: () => void;
  readonly counted: (type: HubEvent) => void;
}) {
  const { genes, deliveries, subscriptions, clock, ids, hasOwn, wake, counted } = parts;

  async function store(event: EventRow, rows: readonly DeliveryRow[]): Promise<Accepted> {
    const isNew = await deliveries.accept(event, rows);
    if (isNew) counted(event.type);
    wake();
    return { id: event.id, deliveries: isNew ? rows.length : 0 };
  }

  const eventOf = (
    nodeId: string,
    { type, gene, key, stillPromoted = [] }: Reported,
    now: Date,
  ): EventRow => ({
    id: key === undefined ? ids.uuid() : eventId(nodeId, key),
    type,
    nodeId,
    gene,
    stillPromoted: SAYINGS.filter((said) => stillPromoted.includes(said)).join() || null,
    createdAt: now,
  });

  /** What of a gene's sayings nodes other than this one promote. */
  async function heldByOthers(nodeId: string, gene: HubGene): Promise<readonly string[]> {
    const held: string[] = [];
    for (const { said, gene: one } of sayingsOf(gene))
      if (await genes.isHeldByOthers(nodeId, contentOf(one))) held.push(said);
    return held;
  }

  const deliveryOf = (event: EventRow, subscriptionId: string, isFull: boolean): DeliveryRow => ({
    id: ids.uuid(),
    eventId: event.id,
    subscriptionId,
    state: isFull ? 'dead' : 'waiting',
    attempts: 0,
    dueAt: event.createdAt,
    claimedUntil: new Date(0),
    ticket: '',
    reason: isFull ? FULL : null,
    createdAt: event.createdAt,
  });

  return {
    /**
     * A reported gene; where it names no contributor, with this one. Undefined for a value that has not the form of a
     * gene.
     */
    read(given: Readonly<Record<string, unknown>>, contributor: string): HubGene | undefined {
      const named = given.contributorId === undefined ? { ...given, contributorId: contributor } : given;
      return readGene(named, new Date(clock.now()).toISOString());
    },

    /**
     * Accepts an event of a node together with its deliveries: when this resolves, they are stored, and survive a
     * crash.
     *
     * @throws hub.foreign-contributor, hub.gene-revoked, hub.too-many-genes
     */
    async accept(nodeId: string, reported: Reported): Promise<Accepted> {
      const { type, gene, key } = reported;
      if (gene.contributorId !== nodeId && gene.contributorId !== ANONYMOUS)
        throw HubErrors.foreignContributor();
      // One that comes again, since its answer was lost, must not undo what its node has reported since.
      const known = key === undefined ? undefined : await deliveries.event(eventId(nodeId, key));
      if (known?.type === type && known.gene.geneId === gene.geneId) return { id: known.id, deliveries: 0 };
      const before = await genes.find(nodeId, gene.geneId);
      if (before === undefined && (await genes.countOf(nodeId)) >= MAX_GENES) throw HubErrors.tooManyGenes();
      const now = new Date(clock.now());
      const [state, content] = [type === 'gene_promoted' ? 'promoted' : 'revoked', contentOf(gene)] as const;
      // The tombstone is stored before subscribers are notified: otherwise a search could still find the gene after its
      // revocation was delivered.
      if (!(await genes.note({ nodeId, geneId: gene.geneId, content, gene, state, updatedAt: now })))
        throw HubErrors.geneRevoked();
      // A revocation also counts with the highest confidence of its promotions, so that it reaches the subscribers that
      // received one of them.
      const confidence = Math.max(gene.confidence, type === 'gene_revoked' ? confidenceOf(before) : 0);
      const stillPromoted = type === 'gene_revoked' ? await heldByOthers(nodeId, gene) : [];
      const event = eventOf(nodeId, { type, gene, key, stillPromoted }, now);
      const mayBeFull = await deliveries.waitAtLeast(MAX_WAITING);
      const rows: DeliveryRow[] = [];
      for await (const page of subscriptions.thatWant(type)) {
        const wanting = page.filter((one) => wants(one, confidence)).map(({ id }) => id);
        const full = await deliveries.full(mayBeFull ? wanting : [], MAX_WAITING);
        rows.push(...wanting.map((id) => deliveryOf(event, id, full.has(id))));
      }
      if (hasOwn) rows.push(deliveryOf(event, OWN, false));
      return store(event, rows);
    },

    /** Accepts an event that a hub has delivered to this gateway, for this gateway alone. */
    acceptOwn(hubId: string, reported: Reported): Promise<Accepted> {
      const event = eventOf(hubId, reported, new Date(clock.now()));
      return store(event, hasOwn ? [deliveryOf(event, OWN, false)] : []);
    },
  };
}

function wants({ minConfidence }: Pick<SubscriptionRow, 'minConfidence'>, confidence: number): boolean {
  return minConfidence === null || confidence >= minConfidence;
}

/** The id of an event to which its node gave a key: the same for each report of it. A UUID of version 8 (RFC 9562). */
function eventId(nodeId: string, key: string): string {
  const digest = createHash('sha256').update(`${nodeId}\n${key}`).digest().subarray(0, 16);
  digest[6] = 0x80 | (digest[6]! & 0x0f);
  digest[8] = 0x80 | (digest[8]! & 0x3f);
  return digest.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
