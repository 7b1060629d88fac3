import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity, type EntityRegistration } from 'agent-gateway';
import type { SharingMode } from '../contract.ts';
import type { GeneState, Validation } from '../rules/gene.ts';

/** Characters of a hash: 32 bytes in hexadecimal digits. */
const HASH = 64;
/** Characters of a reason. */
export const REASON_LENGTH = 500;
/** Characters of the names of agents, task classes, components, contributors and senders. */
export const NAME_LENGTH = 128;
/** The agent name of genes that apply to all agents of the tenant: those of others. */
export const ANY_AGENT = '*';
/** Characters of the id of an identity. */
const IDENTITY_LENGTH = 256;

/**
 * What a tenant's agent has learned about one component for one class of tasks. It holds counts and hashes, and no text
 * that a person wrote.
 */
export const GeneTable = defineEntity({
  name: 'EvolutionGene',
  tableName: 'evolution_genes',
  indexes: [
    { name: 'evolution_genes_confidence', properties: ['tenantId', 'confidence', 'id'] },
    { name: 'evolution_genes_updated', properties: ['tenantId', 'updatedAt', 'id'] },
    { name: 'evolution_genes_content', properties: ['contentHash', 'tenantId'] },
  ],
  uniques: [
    {
      name: 'evolution_genes_key',
      properties: ['tenantId', 'agentName', 'taskClass', 'component', 'source'],
    },
  ],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    label: column.string(200),
    signalType: column.string(32),
    agentName: column.string(NAME_LENGTH),
    taskClass: column.string(NAME_LENGTH),
    component: column.string(NAME_LENGTH),
    signals: column.json<Readonly<Record<string, number>>>(),
    strategy: column.json<{ readonly component: string; readonly type: string }>(),
    validation: column.json<Validation>(),
    /** 0 to 1. */
    confidence: column.double().$type<number>().default(0.5),
    useCount: column.integer().default(0),
    successCount: column.integer().default(0),
    /** Discounted evidence: later uses make earlier ones count less. */
    wins: column.double().$type<number>().default(0),
    losses: column.double().$type<number>().default(0),
    /** Hashes of two sessions at most in which it succeeded. */
    sessions: column.json<readonly string[]>(),
    state: column.string(16).$type<GeneState>(),
    source: column.string(8).$type<'local' | 'hub'>(),
    /** The tenant that shared it; null where it is not shared, or shared without a name. */
    contributor: column.string(NAME_LENGTH).strictNullable(),
    /** As which it was sent here; null for the tenant's own genes, and for those that came without a name. */
    senderId: column.string(NAME_LENGTH).strictNullable(),
    contentHash: column.string(HASH),
    /** Grows with each change. */
    version: column.integer().default(1),
    createdAt: column.time(),
    updatedAt: column.time(),
  },
});

/** Which sessions are compared: those that had advice, those that would have had it, and all others. */
export type Arm = 'advised' | 'holdout' | 'none';

/** One of the last runs of an agent: hashes of words, names of components, and how they ended. */
export const TaskTable = defineEntity({
  name: 'EvolutionTask',
  tableName: 'evolution_tasks',
  indexes: [
    { name: 'evolution_tasks_window', properties: ['tenantId', 'agentName', 'id'] },
    { name: 'evolution_tasks_fresh', properties: ['isCounted', 'tenantId', 'agentName', 'id'] },
  ],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    agentName: column.string(NAME_LENGTH),
    /** The class that the caller or the agent's definition named; null: found by the words. */
    taskClass: column.string(NAME_LENGTH).strictNullable(),
    features: column.json<readonly number[]>(),
    /** By component: 1 where its last use succeeded, else 0. */
    components: column.json<Readonly<Record<string, 0 | 1>>>(),
    session: column.string(HASH).strictNullable(),
    arm: column.string(8).$type<Arm>(),
    /** Ids of the genes that were in its advice. */
    advised: column.json<readonly string[]>(),
    /** Whether the agent did what it was asked for; null where that is unknown. */
    outcome: column.boolean().strictNullable(),
    /** Whether it is in the counts of genes and arms. */
    isCounted: column.boolean(),
    createdAt: column.time(),
  },
});

/** An agent that learns. */
export const LearnerTable = defineEntity({
  name: 'EvolutionLearner',
  tableName: 'evolution_learners',
  uniques: [{ name: 'evolution_learners_agent', properties: ['tenantId', 'agentName'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    agentName: column.string(NAME_LENGTH),
    /** By task class: the hashes of its words, each with its weight for the class. */
    classes: column.json<Readonly<Record<string, readonly (readonly [number, number])[]>>>(),
    /** Tasks that were counted since the classes were found. */
    tasksSince: column.integer().default(0),
    updatedAt: column.time(),
  },
});

/** Tasks of one agent, day (UTC) and arm. */
export const OutcomeTable = defineEntity({
  name: 'EvolutionOutcome',
  tableName: 'evolution_outcomes',
  uniques: [{ name: 'evolution_outcomes_key', properties: ['tenantId', 'agentName', 'day', 'arm'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    agentName: column.string(NAME_LENGTH),
    /** `2030-01-31` */
    day: column.string(10),
    arm: column.string(8).$type<Arm>(),
    tasks: column.integer().default(0),
    successes: column.integer().default(0),
  },
});

/** A content that was revoked: genes with this hash are not imported again. */
export const TombstoneTable = defineEntity({
  name: 'EvolutionTombstone',
  tableName: 'evolution_tombstones',
  uniques: [{ name: 'evolution_tombstones_hash', properties: ['tenantId', 'contentHash'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    contentHash: column.string(HASH),
    reason: column.string(REASON_LENGTH),
    createdAt: column.time(),
  },
});

/** The versions of the global policy: rows are added and never changed, the highest version is in force. */
export const GlobalSharingTable = defineEntity({
  name: 'EvolutionSharingGlobal',
  tableName: 'evolution_sharing_global',
  properties: {
    version: column.integer().primary().autoincrement(false),
    mode: column.string(16).$type<SharingMode>(),
    reason: column.string(REASON_LENGTH).strictNullable(),
    updatedBy: column.string(IDENTITY_LENGTH),
    updatedAt: column.time(),
  },
});

/** The versions of the policies of tenants, in the same way. */
export const TenantSharingTable = defineEntity({
  name: 'EvolutionSharingTenant',
  tableName: 'evolution_sharing_tenant',
  uniques: [{ name: 'evolution_sharing_tenant_version', properties: ['tenantId', 'version'] }],
  properties: {
    id: column.id().primary(),
    tenantId: column.tenant(),
    version: column.integer(),
    consumeShared: column.boolean(),
    contributionMode: column.string(16).$type<SharingMode>(),
    labels: column.json<readonly string[]>(),
    reason: column.string(REASON_LENGTH).strictNullable(),
    updatedBy: column.string(IDENTITY_LENGTH),
    updatedAt: column.time(),
  },
});

export type GeneRow = InferEntity<typeof GeneTable>;
export type LearnerRow = InferEntity<typeof LearnerTable>;
export type TaskRow = InferEntity<typeof TaskTable>;
export type GlobalSharingRow = InferEntity<typeof GlobalSharingTable>;
export type TenantSharingRow = InferEntity<typeof TenantSharingTable>;

/** The tables of evolution. */
export const entities: readonly EntityRegistration[] = [
  { entity: GeneTable, impersonal: 'counts and hashes of what agents have learned, without texts' },
  {
    entity: TaskTable,
    impersonal: 'hashes of words, each of which stands for many, and names of components',
  },
  { entity: LearnerTable, impersonal: 'hashes of words that many tasks have in common' },
  { entity: OutcomeTable, impersonal: 'counts' },
  { entity: TombstoneTable, impersonal: 'hashes of what was revoked' },
  { entity: GlobalSharingTable, tenancy: 'shared' },
  TenantSharingTable,
];
