import type { EntityRegistration, Migration, MovedMigration } from 'agent-gateway';
import { checkpoints } from './checkpoints/007-checkpoints.ts';
import { checkpointLists } from './checkpoints/008-checkpoint-lists.ts';
import { AgentCheckpoint } from './checkpoints/checkpoints.ts';
import { sandboxPolicies } from './policies/004-sandbox-policies.ts';
import { SandboxPolicyRow } from './policies/sandbox-policy-row.ts';

/** The tables of the agent engine. Both belong to tenants. */
export const entities: readonly EntityRegistration[] = [
  { entity: SandboxPolicyRow, impersonal: 'limits of code and tools, set by administrators' },
  AgentCheckpoint,
];

const moved = (name: string): MovedMigration => ({ name, movedTo: 'records' });

/**
 * Their migrations, in order. A released one never changes. Those of sessions, receipts, usage, memories and skills
 * went to `records`.
 */
export const migrations: readonly (Migration | MovedMigration)[] = [
  moved('001-sessions'),
  moved('002-receipts'),
  moved('003-usage'),
  sandboxPolicies,
  moved('005-memories'),
  moved('006-skills'),
  checkpoints,
  checkpointLists,
];
