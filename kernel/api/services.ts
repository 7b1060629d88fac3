import type { AuditLogs } from '../../foundation/audit/audit-logs.ts';
import type { Clock } from '../../foundation/base/clock.ts';
import type { Ids } from '../../foundation/base/ids.ts';
import type { Database } from '../../foundation/data/database.ts';
import type { Egress } from '../../foundation/egress/egress.ts';
import type { Leases } from '../../foundation/leases/leases.ts';
import type { DurableEvents } from '../../foundation/messages/durable-events/durable-events.ts';
import type { Events } from '../../foundation/messages/events/events.ts';
import type { Hints } from '../../foundation/messages/hints/hints.ts';
import type { Jobs } from '../../foundation/messages/jobs/jobs.ts';
import type { Objects } from '../../foundation/objects/objects.ts';
import type { Spans } from '../../foundation/observability/tracing.ts';
import type { Protection } from '../../foundation/protection/protection.ts';
import type { Resources } from '../../foundation/resources/resources.ts';
import type { Secrets } from '../../foundation/secrets/secrets.ts';
import type { ApiKeyStore } from '../auth/api-key-store.ts';
import type { OpenApiDocument } from '../http/openapi.ts';
import type { Tenants } from '../tenancy/tenants.ts';
import type { Deployment } from './deployment.ts';

/** What the kernel offers to every plugin. */
export interface KernelServices {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly database: Database;
  /** Tenant records, cached for a second at most. */
  readonly tenants: Tenants;
  /** API key records; revoking drops the cached identity at once. */
  readonly apiKeys: ApiKeyStore;
  /** The audit records that were written; `note` writes one that no request has caused. */
  readonly audit: AuditLogs;
  /** What the gateway itself keeps about people, and the purge of deleted tenants. */
  readonly protection: Protection;
  /** One holder of a key, or so many, over all replicas: locks with a fair line, and bounds with named holders. */
  readonly leases: Leases;
  /** Hints that one replica takes up, or none: they may be lost. `scope.onHint` hears them. */
  readonly hints: Pick<Hints, 'send' | 'delivers' | 'form'>;
  /** Durable work: done at least once, whatever process dies. `scope.worker` does it. */
  readonly jobs: Jobs;
  /** What happened, for every subscriber: published in the transaction of its data. `scope.subscribe` handles it. */
  readonly durableEvents: DurableEvents;
  /** Object storage. */
  readonly objects: Objects;
  /** The way out to addresses that a tenant, a model or a remote party chose. */
  readonly egress: Egress;
  /** What stands behind `env:NAME`, `file:PATH` and `plugin/<plugin>/<store>:PATH#KEY`. */
  readonly secrets: Secrets;
  /** Events to all replicas; they may be lost. `scope.on` hears them. */
  readonly events: Pick<Events, 'emit' | 'onMissed' | 'reach'>;
  /** The YAML resources of agents.d, for their administration. They belong to the deployment and have no tenant. */
  readonly resources: Resources;
  /** Spans below a request's, of calls of other services for example. */
  readonly tracing: Spans;
  /** This process: its plugins, its readiness and its log, for operators. */
  readonly deployment: Deployment;
  /**
   * Opens a database of the plugin's own next to the gateway's: a SQLite file (its folder is made), or one in memory,
   * of 1 GiB at most. It has no tables but what the plugin registers there; the plugin closes it (`scope.defer`).
   */
  openSqlite(file?: string): Promise<Database>;
  /** Absolute path of `SVC_DATA_DIR`: for files that this process keeps, and no other replica sees. */
  readonly dataDir: string;
  /** The OpenAPI 3.0 document of the live routes, the same frozen object until one comes or goes. */
  openapi(): OpenApiDocument;
  /** Fails when called inside a database transaction: outbound calls say so before they wait (DESIGN 1.4). */
  assertOutsideTransaction(what: string): void;
  /** What this build calls itself. */
  readonly version: string;
  /** True with `NODE_ENV=production`. */
  readonly production: boolean;
}
