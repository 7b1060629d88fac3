import { defineErrors, parseDuration, serviceRef } from 'agent-gateway';

/** What keeps records for good, where a duration could stand. */
export const FOREVER = 'forever';

/** The shortest and the longest time for which records can be kept, in milliseconds: an hour, and a hundred years. */
const SHORTEST_MS = 3_600_000;
const LONGEST_MS = 36_500 * 24 * 3_600_000;

/**
 * Reads how long records are to be kept (`90d`, `forever`): milliseconds, null for `forever`; undefined for any other
 * text, and for a duration that is not between an hour and a hundred years.
 */
export function parseKeep(text: string): number | null | undefined {
  if (text === FOREVER) return null;
  const milliseconds = parseDuration(text);
  if (milliseconds === undefined || milliseconds < SHORTEST_MS || milliseconds > LONGEST_MS) return undefined;
  return milliseconds;
}

/**
 * Who decided how long records are kept: the tenant's administration, the operator (`SVC_RETENTION`), or the plugin
 * that contributes them.
 */
export type RetentionSource = 'tenant' | 'deployment' | 'default';

/** How long a tenant's records of one kind are kept. */
export interface RetentionRule {
  /** Milliseconds; null: for good. */
  readonly keep: number | null;
  readonly source: RetentionSource;
  /** Until then nothing of the kind is deleted; null where there is nothing to wait for. */
  readonly deletesFrom: Date | null;
}

/** A kind of records with its rule. */
export interface RetentionInForce extends RetentionRule {
  /** `sessions`. */
  readonly kind: string;
  readonly summary: string;
}

/** What a rule would delete. */
export interface RetentionPreview {
  readonly tenantId: string;
  /** How many the tenant has. */
  readonly records: number;
  /** How many of them are older. */
  readonly expired: number;
}

/** How long records that grow without end are kept, by kind and tenant. */
export interface Retention {
  /**
   * All kinds, by name, with the rule that applies to a tenant; without `tenantId`, the rule for tenants that have none
   * of their own.
   */
  inForce(tenantId?: string): Promise<readonly RetentionInForce[]>;
  /**
   * Gives a tenant a rule of its own: milliseconds, or null for good. What it deletes is deleted after
   * `SVC_RETENTION_GRACE` at the earliest. Throws `retention.unknown-kind`.
   */
  set(tenantId: string, kind: string, keep: number | null): Promise<RetentionInForce>;
  /**
   * Back to what the operator set. Throws `retention.unknown-kind`, and `retention.not-found` if the tenant has no rule
   * of its own.
   */
  reset(tenantId: string, kind: string): Promise<void>;
  /**
   * What records there are, and how many of them would go that are older than `keep` milliseconds; null: none. Throws
   * `retention.unknown-kind`.
   */
  preview(tenantId: string, kind: string, keep: number | null): Promise<RetentionPreview>;
}

/** What the administration of retention refuses. */
export const RetentionErrors = defineErrors({
  unknownKind: {
    code: 'retention.unknown-kind',
    kind: 'not-found',
    title: 'There are no such records',
  },
  notFound: {
    code: 'retention.not-found',
    kind: 'not-found',
    title: 'The tenant has no retention of its own for these records',
  },
});

/** How long records are kept. */
export const RetentionRef = serviceRef<Retention>('records.retention');
