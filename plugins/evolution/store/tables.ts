import type { InferEntity } from '@mikro-orm/core';
import { column, defineEntity, type EntityRegistration } from 'agent-gateway';
import type { SharingMode } from '../contract.ts';

/** Characters of a hash: 32 bytes in hexadecimal digits. */
const HASH = 64;
/** Characters of a reason. */
export const REASON_LENGTH = 500;
/** Characters of the names of agents, task classes, components, contributors and senders. */
export const NAME_LENGTH = 128;
/** Characters of the id of an identity. */
const IDENTITY_LENGTH = 256;

/** What a tenant's agent has learned about one component for one class of tasks. It holds counts and hashes, and no text of anybody. */
export const GeneTable = defineEntity({
  name: 'EvolutionGene',
  tableName: 'evolution_genes',
  indexes: [
    { name: 'evolution_genes_confidence', properties: ['tenantId', 'confidence', 'id'] },
    { name: 'evolution_genes_updated', properties: ['tenantId', 'updatedAt', 'id'] },
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
    signals: column.json<unknown>(),
    strategy: column.json<{ readonly component: string; readonly type: string }>(),
    validation: column.json<unknown>(),
    /** 0 to 1. */
    confidence: column.double().default(0.5),
    useCount: column.integer().default(0),
    successCount: column.integer().default(0),
    /** Discounted evidence: later uses make earlier ones count less. */
    wins: column.double().default(0),
    losses: column.double().default(0),
    /** Hashes of two sessions at most in which it succeeded. */
    sessions: column.json<readonly string[]>(),
    state: column.string(16).$type<'candidate' | 'promoted' | 'quarantined' | 'revoked'>(),
    source: column.string(8).$type<'local' | 'hub'>(),
    /** The tenant that shared it; null where it is not shared, or shared without a name. */
    contributor: column.string(NAME_LENGTH).strictNullable(),
    senderId: column.string(NAME_LENGTH).strictNullable(),
    contentHash: column.string(HASH),
    /** Grows with each change. */
    version: column.integer().default(1),
    createdAt: column.time(),
    updatedAt: column.time(),
  },
});

/** A content that was revoked: what has this hash is not imported again. */
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

export type GlobalSharingRow = InferEntity<typeof GlobalSharingTable>;
export type TenantSharingRow = InferEntity<typeof TenantSharingTable>;

/** The tables of evolution. */
export const entities: readonly EntityRegistration[] = [
  { entity: GeneTable, impersonal: 'counts and hashes of what agents have learned, without texts' },
  { entity: TombstoneTable, impersonal: 'hashes of what was revoked' },
  { entity: GlobalSharingTable, tenancy: 'shared' },
  TenantSharingTable,
];
