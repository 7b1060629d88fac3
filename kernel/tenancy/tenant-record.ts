/** A tenant as the gateway works with it (specification 1, Tenant; decisions 1.1). */
export interface TenantRecord {
  readonly id: string;
  readonly name: string;
  readonly plan: string;
  /** Requests a minute for all credentials of the tenant together. */
  readonly rateLimitRpm: number;
  /** Sessions that may have a turn in flight at one time. */
  readonly maxSessions: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Set by a delete: from then on no credential of the tenant is accepted. */
  readonly deletedAt: Date | null;
  /** When the rows and objects of a deleted tenant are removed. */
  readonly purgeAfter: Date | null;
}
