import type { EntityRegistration, Migration } from 'agent-gateway';
import { checkpoints } from './checkpoints/007-checkpoints.ts';
import { AgentCheckpoint } from './checkpoints/agent-checkpoint.ts';
import { memoriesMigration } from '../../records/store/memories/005-memories.ts';
import { MemoryEntity } from '../../records/store/memories/memory.ts';
import { ProfileEntity } from '../../records/store/memories/profile.ts';
import { sandboxPolicies } from './policies/004-sandbox-policies.ts';
import { SandboxPolicyRow } from './policies/sandbox-policy-row.ts';
import { PricingRuleRow } from '../../records/store/pricing/pricing-rule-row.ts';
import { receipts } from '../../records/store/receipts/002-receipts.ts';
import { ExecutionReceipt } from '../../records/store/receipts/execution-receipt.ts';
import { sessions } from '../../records/store/sessions/001-sessions.ts';
import { SessionMessageEntity } from '../../records/store/sessions/session-message-row.ts';
import { Session } from '../../records/store/sessions/session-row.ts';
import { skillsMigration } from '../../records/store/skills/006-skills.ts';
import { SkillProvisioningEntity } from '../../records/store/skills/skill-provisioning.ts';
import { usage } from '../../records/store/usage/003-usage.ts';
import { UsageRecordRow } from '../../records/store/usage/usage-record.ts';

/** The tables of the agent engine. Pricing rules are the deployment's; everything else belongs to a tenant. */
export const entities: readonly EntityRegistration[] = [
  Session,
  SessionMessageEntity,
  ExecutionReceipt,
  UsageRecordRow,
  { entity: PricingRuleRow, tenancy: 'shared' },
  SandboxPolicyRow,
  MemoryEntity,
  ProfileEntity,
  SkillProvisioningEntity,
  AgentCheckpoint,
];

/** Their migrations, in order. A released one never changes. */
export const migrations: readonly Migration[] = [
  sessions,
  receipts,
  usage,
  sandboxPolicies,
  memoriesMigration,
  skillsMigration,
  checkpoints,
];
