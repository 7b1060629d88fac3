import type { EntityRegistration } from 'agent-gateway';
import { MemoryEntity, ProfileEntity } from './memories.ts';
import { PricingRuleRow } from './pricing-rules.ts';
import { ExecutionReceipt } from './receipts.ts';
import { Session, SessionMessageEntity } from './sessions.ts';
import { SkillProvisioningEntity } from './skill-provisionings.ts';
import { UsageRecordRow } from './usage.ts';

/** The tables of the records. Pricing rules are the deployment's; everything else belongs to a tenant. */
export const entities: readonly EntityRegistration[] = [
  Session,
  SessionMessageEntity,
  ExecutionReceipt,
  UsageRecordRow,
  { entity: PricingRuleRow, tenancy: 'shared' },
  MemoryEntity,
  ProfileEntity,
  { entity: SkillProvisioningEntity, impersonal: 'which built-in skills the tenant has got' },
];
