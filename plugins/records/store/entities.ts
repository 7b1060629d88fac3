import type { EntityRegistration, Migration } from 'agent-gateway';
import { memoriesMigration } from './memories/005-memories.ts';
import { MemoryEntity } from './memories/memory.ts';
import { ProfileEntity } from './memories/profile.ts';
import { PricingRuleRow } from './pricing/pricing-rule-row.ts';
import { receipts } from './receipts/002-receipts.ts';
import { ExecutionReceipt } from './receipts/execution-receipt.ts';
import { sessions } from './sessions/001-sessions.ts';
import { SessionMessageEntity } from './sessions/session-message-row.ts';
import { Session } from './sessions/session-row.ts';
import { skillsMigration } from './skills/006-skills.ts';
import { SkillProvisioningEntity } from './skills/skill-provisioning.ts';
import { usage } from './usage/003-usage.ts';
import { UsageRecordRow } from './usage/usage-record.ts';

/** The tables of the records. Pricing rules are the deployment's; everything else belongs to a tenant. */
export const entities: readonly EntityRegistration[] = [
  Session,
  SessionMessageEntity,
  ExecutionReceipt,
  UsageRecordRow,
  { entity: PricingRuleRow, tenancy: 'shared' },
  MemoryEntity,
  ProfileEntity,
  SkillProvisioningEntity,
];

/** Their migrations, in order. A released one never changes. */
export const migrations: readonly Migration[] = [
  sessions,
  receipts,
  usage,
  memoriesMigration,
  skillsMigration,
];
