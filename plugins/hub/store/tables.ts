import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity, type EntityRegistration } from 'agent-gateway';
import type { HubEvent } from '../contract.ts';
import type { HubGene } from '../rules/hub-gene.ts';

/** Characters of the id of a node, and of a gene. */
const NAME_LENGTH = 128;
/** Characters of 32 bytes in base64, and in hexadecimal digits. */
const KEY = 44;
const HASH = 64;
/** Characters of the id of a key. */
const KEY_ID = 32;
/** Characters of what a gene may say, all of it. */
const SAYINGS_LENGTH = 16;
/** Characters of a reason. */
export const REASON_LENGTH = 500;

/** A node of the network. Its id stays with its key. */
export const NodeTable = defineEntity({
  name: 'HubNode',
  tableName: 'hub_nodes',
  indexes: [
    { name: 'hub_nodes_seen', properties: ['lastSeenAt', 'id'] },
    { name: 'hub_nodes_owner', properties: ['owner'] },
    { name: 'hub_nodes_registered', properties: ['registeredAt', 'id'] },
  ],
  properties: {
    id: column.string(NAME_LENGTH).primary(),
    endpoint: column.text(),
    publicKey: column.string(KEY),
    /** Who registered it; null: it was registered before this was kept. */
    owner: column.string(HASH).strictNullable(),
    capabilities: column.json<readonly string[]>(),
    /** The second key with which this id was registered; null: there is none. */
    rivalKey: column.string(KEY).strictNullable(),
    rivalEndpoint: column.text().strictNullable(),
    /** Who registered the second key. */
    rivalOwner: column.string(HASH).strictNullable(),
    registeredAt: column.time(),
    lastSeenAt: column.time(),
  },
});

/** Hashes of the nonces and of the signed texts of accepted envelopes. */
export const SpentTable = defineEntity({
  name: 'HubSpent',
  tableName: 'hub_spent',
  indexes: [{ name: 'hub_spent_expiry', properties: ['expiresAt'] }],
  properties: { id: column.string(HASH).primary(), expiresAt: column.time() },
});

/** The last report of a node about one of its genes. A revoked row is the gene's tombstone. */
export const GeneTable = defineEntity({
  name: 'HubGene',
  tableName: 'hub_genes',
  indexes: [
    { name: 'hub_genes_gene', properties: ['geneId'] },
    { name: 'hub_genes_content', properties: ['content', 'state'] },
    { name: 'hub_genes_node', properties: ['nodeId'] },
    { name: 'hub_genes_updated', properties: ['updatedAt', 'id'] },
    { name: 'hub_genes_state', properties: ['state', 'updatedAt', 'id'] },
  ],
  properties: {
    /** Hash of node and gene. */
    id: column.string(HASH).primary(),
    nodeId: column.string(NAME_LENGTH),
    geneId: column.string(NAME_LENGTH),
    /** Hash of its content: the same for all nodes that have learned the same. */
    content: column.string(HASH),
    gene: column.json<HubGene>(),
    state: column.string(16).$type<'promoted' | 'revoked'>(),
    /** Whether it was ever promoted here: only then does its revocation cover the copies of other nodes. */
    wasPromoted: column.boolean(),
    /**
     * The highest confidence with which it was promoted here: its revocation reaches whoever that promotion reached.
     * Null: it never was, or before this was kept.
     */
    promotedWith: column.double().$type<number>().strictNullable(),
    updatedAt: column.time(),
  },
});

/** An event that was accepted, for as long as deliveries refer to it. */
export const EventTable = defineEntity({
  name: 'HubEvent',
  tableName: 'hub_events',
  indexes: [{ name: 'hub_events_created', properties: ['createdAt', 'id'] }],
  properties: {
    id: column.id().primary(),
    type: column.string(16).$type<HubEvent>(),
    nodeId: column.string(NAME_LENGTH),
    gene: column.json<HubGene>(),
    /** Of a revocation: what of its sayings other nodes still promoted, separated by commas. Null: nothing. */
    stillPromoted: column.string(SAYINGS_LENGTH).strictNullable(),
    createdAt: column.time(),
  },
});

/** A subscriber to events, and the state of its deliveries. */
export const SubscriptionTable = defineEntity({
  name: 'HubSubscription',
  tableName: 'hub_subscriptions',
  indexes: [{ name: 'hub_subscriptions_owner', properties: ['owner', 'createdAt', 'id'] }],
  properties: {
    id: column.id().primary(),
    /** Hash of the owner's key, or the owner's name. */
    owner: column.string(HASH),
    callbackUrl: column.text(),
    events: column.json<readonly HubEvent[]>(),
    minConfidence: column.double().$type<number>().strictNullable(),
    signingKeyId: column.string(KEY_ID),
    delivered: column.integer().default(0),
    failedAttempts: column.integer().default(0),
    lastAttemptAt: column.time().strictNullable(),
    /** Null after a success. */
    lastError: column.string(REASON_LENGTH).strictNullable(),
    createdAt: column.time(),
  },
});

/** One event to be delivered to one subscriber; deleted once it is delivered. */
export const DeliveryTable = defineEntity({
  name: 'HubDelivery',
  tableName: 'hub_deliveries',
  indexes: [
    { name: 'hub_deliveries_due', properties: ['state', 'subscriptionId', 'dueAt'] },
    { name: 'hub_deliveries_created', properties: ['subscriptionId', 'state', 'createdAt', 'id'] },
  ],
  properties: {
    id: column.id().primary(),
    eventId: column.id(),
    subscriptionId: column.id(),
    state: column.string(8).$type<'waiting' | 'dead'>(),
    /** Failed attempts. */
    attempts: column.integer().default(0),
    /** When the next attempt is due, or since when it is dead. */
    dueAt: column.time(),
    /** Until when the attempting process holds its claim; in the past: unclaimed. */
    claimedUntil: column.time(),
    ticket: column.id(),
    reason: column.string(REASON_LENGTH).strictNullable(),
    createdAt: column.time(),
  },
});

/** Keys that the hub, and this deployment as a node, sign with. */
export const KeyTable = defineEntity({
  name: 'HubKey',
  tableName: 'hub_keys',
  uniques: [{ name: 'hub_keys_generation', properties: ['use', 'generation'] }],
  properties: {
    id: column.string(KEY_ID).primary(),
    use: column.string(8).$type<'hub' | 'node'>(),
    /** 1 for the first; the highest is the one in use. */
    generation: column.integer(),
    publicKey: column.string(KEY),
    /** PKCS #8 in base64, sealed. */
    privateKey: column.text(),
    createdAt: column.time(),
    /** Until then it is published along with its successor; null: it is the one in use. */
    retiresAt: column.time().strictNullable(),
  },
});

export type NodeRow = InferEntity<typeof NodeTable>;
export type GeneRow = InferEntity<typeof GeneTable>;
export type EventRow = InferEntity<typeof EventTable>;
export type SubscriptionRow = InferEntity<typeof SubscriptionTable>;
export type DeliveryRow = InferEntity<typeof DeliveryTable>;
export type KeyRow = InferEntity<typeof KeyTable>;

/** The tables of the hub. They belong to the network, not to a tenant, and hold no personal data. */
export const entities: readonly EntityRegistration[] = [
  NodeTable,
  SpentTable,
  GeneTable,
  EventTable,
  SubscriptionTable,
  DeliveryTable,
  KeyTable,
].map((entity) => ({ entity, tenancy: 'shared' as const }));
