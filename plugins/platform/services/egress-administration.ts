import {
  defineErrors,
  type EgressRule,
  type EgressRulePage,
  type EgressRuleSettings,
  type EgressRules,
  type Identity,
  isOperator,
  type Page,
  TenantErrors,
} from 'agent-gateway';
import { isId, reachOf } from './reach.ts';

/** What administrators do with egress rules (decisions 0.6, 1.12). Rules out of the caller's reach are not there. */
export interface EgressAdministration {
  /** Operators: rules of all tenants, or of `tenantId`. Others: their own; a foreign `tenantId` has none to show. */
  list(identity: Identity, tenantId: string | undefined, page: Page): Promise<EgressRulePage>;
  /** Throws `egress.foreign-tenant`, and what the kernel's rules refuse. Without `tenantId`: for the caller's own tenant. */
  create(identity: Identity, wanted: WantedEgressRule): Promise<EgressRule>;
  /** Throws `egress.rule-not-found`. */
  remove(identity: Identity, id: string): Promise<void>;
}

/** What an administrator says about a new rule. */
export type WantedEgressRule = Omit<EgressRuleSettings, 'tenantId'> & {
  readonly tenantId?: string | undefined;
};

/** What the administration of egress rules refuses. */
export const EgressAdministrationErrors = defineErrors({
  foreignTenant: {
    code: 'egress.foreign-tenant',
    kind: 'forbidden',
    title: 'Rules of another tenant are made by operators only',
  },
  notFound: { code: 'egress.rule-not-found', kind: 'not-found', title: 'There is no such egress rule' },
});

const NOTHING: EgressRulePage = { records: [], total: 0 };

/** Makes the service. */
export function createEgressAdministration(rules: EgressRules): EgressAdministration {
  return {
    async list(identity, tenantId, page) {
      const reach = reachOf(identity);
      if (tenantId === undefined) return rules.list({ ...page, tenantId: reach });
      const isReached = isId(tenantId) && (reach === undefined || reach === tenantId);
      return isReached ? rules.list({ ...page, tenantId }) : NOTHING;
    },
    async create(identity, { tenantId = identity.tenantId, ...settings }) {
      if (tenantId !== identity.tenantId && !isOperator(identity)) {
        throw EgressAdministrationErrors.foreignTenant(undefined, {
          errors: [{ pointer: '/body/tenant_id', message: 'is not your own tenant' }],
        });
      }
      if (!isId(tenantId)) throw TenantErrors.notFound();
      return rules.create({ ...settings, tenantId });
    },
    async remove(identity, id) {
      const isRemoved = isId(id) && (await rules.delete(id, reachOf(identity)));
      if (!isRemoved) throw EgressAdministrationErrors.notFound();
    },
  };
}
