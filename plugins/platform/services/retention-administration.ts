import {
  type Identity,
  livingTenant,
  narrowedTo,
  type Page,
  reachedTenant,
  type Tenants,
} from 'agent-gateway';
import type { Retention, RetentionInForce, RetentionPreview } from '../../records/contract.ts';

/** What administrators do with retention. Methods that name a tenant throw `tenant.not-found` for one out of reach. */
export type RetentionAdministration = ReturnType<typeof createRetentionAdministration>;

/** Makes the service. */
export function createRetentionAdministration(options: {
  readonly retention: Retention;
  readonly tenants: Pick<Tenants, 'get' | 'list'>;
}) {
  const { retention, tenants } = options;
  return {
    /** The rules of a tenant; where none is named, those that apply to tenants without rules of their own. */
    async list(identity: Identity, tenantId?: string): Promise<readonly RetentionInForce[]> {
      if (tenantId !== undefined) await reachedTenant(tenants, identity, tenantId);
      return retention.inForce(tenantId);
    },

    /** Throws `tenant.deleted`, `retention.unknown-kind`. */
    async set(
      identity: Identity,
      tenantId: string,
      kind: string,
      keep: number | null,
    ): Promise<RetentionInForce> {
      await livingTenant(tenants, identity, tenantId);
      return retention.set(tenantId, kind, keep);
    },

    /** Throws `tenant.deleted`, `retention.unknown-kind`, `retention.not-found`. */
    async reset(identity: Identity, tenantId: string, kind: string): Promise<void> {
      await livingTenant(tenants, identity, tenantId);
      await retention.reset(tenantId, kind);
    },

    /**
     * What a rule would delete at this moment, tenant by tenant, newest tenant first; nothing for a `wanted` tenant out
     * of reach. Tenants are counted one after the other, since counting may be expensive. Throws
     * `retention.unknown-kind`.
     */
    async preview(
      identity: Identity,
      kind: string,
      { keep, wanted }: { readonly keep: number | null; readonly wanted?: string | undefined },
      page: Page,
    ): Promise<{ readonly previews: readonly RetentionPreview[]; readonly total: number }> {
      const only = narrowedTo(identity, wanted);
      if (only === null) return { previews: [], total: 0 };
      const listed = await tenants.list({ ...page, includeDeleted: 'unpurged', only });
      const previews: RetentionPreview[] = [];
      for (const { id } of listed.records) previews.push(await retention.preview(id, kind, keep));
      return { previews, total: listed.total };
    },
  };
}
