import { PLANS, TENANT_DEFAULTS, type TenantRecord, type TenantSettings } from 'agent-gateway';
import Type, { type Static } from 'typebox';
import { Name, nullable, Timestamp, toNullableTimestamp, toTimestamp } from './common.ts';

/** Far above what one gateway can serve; it keeps the value inside the column's 32 bits. */
const MAX_LIMIT = 1_000_000;

const Plan = Type.Enum([...PLANS]);
const Limit = Type.Integer({ minimum: 1, maximum: MAX_LIMIT });

/** The body that makes a tenant (decisions 1.1). */
export const CreateTenant = Type.Object({
  name: Name,
  plan: Type.Optional(Type.Enum([...PLANS], { default: TENANT_DEFAULTS.plan })),
  rate_limit_rpm: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: TENANT_DEFAULTS.rateLimitRpm }),
  ),
  max_sessions: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: TENANT_DEFAULTS.maxSessions }),
  ),
});

/** The body that changes a tenant: what is absent stays as it is. */
export const UpdateTenant = Type.Object({
  name: Type.Optional(Name),
  plan: Type.Optional(Plan),
  rate_limit_rpm: Type.Optional(Limit),
  max_sessions: Type.Optional(Limit),
});

/** A tenant as it is told (specification 1, Tenant; decisions 1.1). */
export const Tenant = Type.Object({
  id: Type.String(),
  name: Type.String(),
  plan: Plan,
  rate_limit_rpm: Type.Integer({ description: 'Requests a minute of all its credentials together' }),
  max_sessions: Type.Integer({ description: 'Sessions that may have a turn in flight at one time' }),
  created_at: Timestamp,
  updated_at: Timestamp,
  deleted_at: nullable(Timestamp),
  purge_after: nullable(Timestamp),
});

/** A delete that is scheduled. */
export const ScheduledDelete = Type.Object({
  status: Type.Literal('scheduled'),
  purge_after: nullable(Timestamp),
});

/** The settings in a body. */
export function toTenantSettings(body: Static<typeof UpdateTenant>): Partial<TenantSettings> {
  return {
    name: body.name,
    plan: body.plan,
    rateLimitRpm: body.rate_limit_rpm,
    maxSessions: body.max_sessions,
  };
}

/** A tenant's record on the wire. */
export function toTenant(record: TenantRecord): Static<typeof Tenant> {
  return {
    id: record.id,
    name: record.name,
    plan: record.plan as Static<typeof Plan>,
    rate_limit_rpm: record.rateLimitRpm,
    max_sessions: record.maxSessions,
    created_at: toTimestamp(record.createdAt),
    updated_at: toTimestamp(record.updatedAt),
    deleted_at: toNullableTimestamp(record.deletedAt),
    purge_after: toNullableTimestamp(record.purgeAfter),
  };
}
