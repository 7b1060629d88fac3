import { defineErrors } from '../base/gateway-error.ts';

/** What can go wrong with tenant records (decisions 1.1). */
export const TenantErrors = defineErrors({
  notFound: { code: 'tenant.not-found', kind: 'not-found', title: 'There is no such tenant' },
  isDefault: { code: 'tenant.default', kind: 'conflict', title: 'The default tenant cannot be deleted' },
  isDeleted: { code: 'tenant.deleted', kind: 'conflict', title: 'The tenant is scheduled for deletion' },
  isNotDeleted: {
    code: 'tenant.not-deleted',
    kind: 'conflict',
    title: 'The tenant is not scheduled for deletion',
  },
  isPurged: { code: 'tenant.purged', kind: 'gone', title: 'The data of the tenant has been removed' },
});
