import {
  type AuditFilter,
  type AuditPage,
  type AuditQuery,
  type Identity,
  isOperator,
  type Page,
} from 'agent-gateway';
import { isId } from './reach.ts';

/** Who reads which audit records (specification 1, Audit logs; decisions 0.6, 1.4). */
export interface AuditSearch {
  /** Records of the caller's own tenant. */
  own(identity: Identity, filter: AuditFilter, page: Page): Promise<AuditPage>;
  /**
   * For operators records of all tenants, those of failed authentications that name no tenant included; others get their
   * own. `tenantId` narrows to one tenant; one that is out of reach has no records to show.
   */
  acrossTenants(
    identity: Identity,
    tenantId: string | undefined,
    filter: AuditFilter,
    page: Page,
  ): Promise<AuditPage>;
}

const NOTHING: AuditPage = { records: [], total: 0 };

/** Makes the search over the written audit records. */
export function createAuditSearch(audit: AuditQuery): AuditSearch {
  return {
    own: (identity, filter, page) => audit.ofTenant(identity.tenantId, filter, page),
    async acrossTenants(identity, tenantId, filter, page) {
      if (isOperator(identity)) {
        if (tenantId === undefined) return audit.ofAll(filter, page);
        return isId(tenantId) ? audit.ofTenant(tenantId, filter, page) : NOTHING;
      }
      const isOwn = tenantId === undefined || tenantId === identity.tenantId;
      return isOwn ? audit.ofTenant(identity.tenantId, filter, page) : NOTHING;
    },
  };
}
