import {
  defineErrors,
  type EgressRule,
  type EgressRulePage,
  type EgressRuleSettings,
  type EgressRules,
  egressPlaceProblems,
  type FieldError,
  type Identity,
  isOperator,
  isUuid,
  narrowedTo,
  type Page,
  reachOf,
  TenantErrors,
} from 'agent-gateway';

/** The new rule that an administrator asks for. */
type WantedEgressRule = Omit<EgressRuleSettings, 'tenantId'> & {
  readonly tenantId?: string | undefined;
};

/** The errors of the administration of egress rules. */
export const EgressAdministrationErrors = defineErrors({
  foreignTenant: {
    code: 'egress.foreign-tenant',
    kind: 'forbidden',
    title: 'Rules of another tenant are made by operators only',
  },
  notFound: { code: 'egress.rule-not-found', kind: 'not-found', title: 'There is no such egress rule' },
});

/** What administrators do with egress rules (decisions 0.6, 1.12). Rules out of the caller's reach count as missing. */
export type EgressAdministration = ReturnType<typeof createEgressAdministration>;

/** Makes the service. */
export function createEgressAdministration(rules: EgressRules) {
  return {
    /** Operators: rules of all tenants, or of `tenantId`. Others: their own; empty for a foreign `tenantId`. */
    async list(identity: Identity, tenantId: string | undefined, page: Page): Promise<EgressRulePage> {
      const only = narrowedTo(identity, tenantId);
      return only === null ? { records: [], total: 0 } : rules.list({ ...page, tenantId: only });
    },
    /** What is wrong with the host and the path in the body of a new rule, which may have other errors as well. */
    problems({ host_pattern, path_prefix }: Readonly<Record<string, unknown>>): readonly FieldError[] {
      return egressPlaceProblems({
        ...(typeof host_pattern === 'string' && { hostPattern: host_pattern }),
        ...(typeof path_prefix === 'string' && { pathPrefix: path_prefix }),
      });
    },
    /**
     * Throws `egress.foreign-tenant`, and what the kernel's rules refuse. Without `tenantId`: for the caller's own
     * tenant.
     */
    async create(identity: Identity, wanted: WantedEgressRule): Promise<EgressRule> {
      const { tenantId = identity.tenantId, ...settings } = wanted;
      if (tenantId !== identity.tenantId && !isOperator(identity)) {
        throw EgressAdministrationErrors.foreignTenant(undefined, {
          errors: [{ pointer: '/body/tenant_id', message: 'is not your own tenant' }],
        });
      }
      if (!isUuid(tenantId)) throw TenantErrors.notFound();
      return rules.create({ ...settings, tenantId });
    },
    /** Throws `egress.rule-not-found`. */
    async remove(identity: Identity, id: string): Promise<void> {
      const isRemoved = isUuid(id) && (await rules.delete(id, reachOf(identity)));
      if (!isRemoved) throw EgressAdministrationErrors.notFound();
    },
  };
}
