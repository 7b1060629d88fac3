import {
  defineErrors,
  type Identity,
  isOperator,
  type TenantRecord,
  type TenantSettings,
} from 'agent-gateway';

/** What the rules about tenants refuse. */
export const TenantRuleErrors = defineErrors({
  operatorOnly: {
    code: 'tenant.operator-only',
    kind: 'forbidden',
    title: 'Only administrators of the default tenant may do this',
  },
});

/** The settings that decide what a tenant may consume, by their names on the wire. Its own administrators do not change them. */
const GOVERNED = { plan: 'plan', rateLimitRpm: 'rate_limit_rpm', maxSessions: 'max_sessions' } as const;

/** Throws `tenant.operator-only` unless the caller is an operator (decisions 0.6). */
export function requireOperator(identity: Identity, action: string): void {
  if (isOperator(identity)) return;
  throw TenantRuleErrors.operatorOnly(`Only administrators of the default tenant may ${action}.`);
}

/**
 * What of `wanted` the caller may write. Operators write everything; the tenant's own administrators its name. Governed
 * settings that they send back unchanged are left out, so that a record that was read can be sent back; throws
 * `tenant.operator-only` naming those that differ from `current`.
 */
export function permittedChanges(
  identity: Identity,
  current: TenantRecord,
  wanted: Partial<TenantSettings>,
): Partial<TenantSettings> {
  if (isOperator(identity)) return wanted;
  const differing = Object.entries(GOVERNED).filter(([field]) => {
    const value = wanted[field as keyof typeof GOVERNED];
    return value !== undefined && value !== current[field as keyof typeof GOVERNED];
  });
  if (differing.length > 0) {
    const errors = differing.map(([, name]) => ({ pointer: `/body/${name}`, message: 'may not be changed' }));
    throw TenantRuleErrors.operatorOnly(
      'Only administrators of the default tenant may change plan and limits.',
      {
        errors,
      },
    );
  }
  return { name: wanted.name };
}
