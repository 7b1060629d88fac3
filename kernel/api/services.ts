import type { AuditQuery } from '../audit/audit-query.ts';
import type { ApiKeyStore } from '../auth/api-key-store.ts';
import type { Database } from '../database/database.ts';
import type { OpenApiDocument } from '../http/openapi.ts';
import type { Clock } from '../services/clock.ts';
import type { Ids } from '../services/ids.ts';
import type { Tenants } from '../tenancy/tenants.ts';

/** What the kernel offers to every plugin. */
export interface KernelServices {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly database: Database;
  /** Tenant records, cached for a second at most. */
  readonly tenants: Tenants;
  /** API key records; revoking drops the cached identity at once. */
  readonly apiKeys: ApiKeyStore;
  /** The audit records that were written. */
  readonly audit: AuditQuery;
  /** The OpenAPI 3.0 document of the routes that are live now. */
  openapi(): OpenApiDocument;
  /** Fails when called inside a database transaction: outbound calls say so before they wait (DESIGN 1.4). */
  assertOutsideTransaction(what: string): void;
  /** What this build calls itself. */
  readonly version: string;
  /** True with `NODE_ENV=production`. */
  readonly production: boolean;
}
