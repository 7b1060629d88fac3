import type { EntityRegistration } from 'agent-gateway';
import { MemoryEntity, ProfileEntity } from './memories.ts';
import { PricingRuleRow } from './pricing-rules.ts';
import { ExecutionReceipt } from './receipts.ts';
import { RetentionRuleRow, RetentionSizeRow } from './retention.ts';
import { Session, SessionMessageEntity } from './sessions.ts';
import { SkillProvisioningEntity } from './skill-provisionings.ts';
import { UsageRecordRow } from './usage.ts';
import { UsageDayRow, UsageDaySessionsRow, UsageResetRow, UsageRollupRow } from './usage-days.ts';

/** Usage by day, added up. Registered where usage records are. */
export const usageDayEntities: readonly EntityRegistration[] = [
  { entity: UsageDayRow, impersonal: 'sums of all calls of a day' },
  { entity: UsageDaySessionsRow, impersonal: 'numbers of sessions of a day' },
  { entity: UsageResetRow, impersonal: 'days whose sums are made again' },
  { entity: UsageRollupRow, tenancy: 'shared' },
];

/** The tables of the records. Pricing rules are the deployment's; everything else belongs to a tenant. */
export const entities: readonly EntityRegistration[] = [
  Session,
  SessionMessageEntity,
  ExecutionReceipt,
  UsageRecordRow,
  ...usageDayEntities,
  { entity: PricingRuleRow, tenancy: 'shared' },
  MemoryEntity,
  ProfileEntity,
  { entity: SkillProvisioningEntity, impersonal: 'which built-in skills the tenant has got' },
  { entity: RetentionRuleRow, impersonal: 'how long the tenant keeps its records' },
  { entity: RetentionSizeRow, impersonal: 'how many records the tenant has' },
];
