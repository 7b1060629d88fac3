import type { AuditExtra } from '../../foundation/audit/audit-entry.ts';
import type { TenantEntityManager } from '../../foundation/data/tenant-entity-manager.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import type { Identity } from '../access/identity.ts';
import type { TenantRecord } from '../tenancy/tenants.ts';

/** What every handler gets, whatever the transport. It is passed explicitly; nothing about a request is ambient. */
export interface Call {
  /** Who is calling. On a `public` route without a credential: the anonymous identity, whose `tenantId` is empty. */
  readonly identity: Identity;
  /** The caller's tenant. Throws on a `public` route that was called without a credential. */
  readonly tenant: TenantRecord;
  /** A fresh entity manager that sees the caller's tenant and no other. Throws like `tenant`. */
  entities(): TenantEntityManager;
  /**
   * `X-Svc-User-Id`, which divides a tenant's sessions and memories, and never widens access: 255 characters at most.
   * Throws `request.invalid` for a longer one.
   */
  readonly userId: string | undefined;
  /** `X-Request-ID` of the caller, or a new UUID. */
  readonly requestId: string;
  /** Logs with the plugin, the request id, tenant and identity. */
  readonly log: Logger;
  /** Aborts when the caller is gone, or the drain time of a stopping plugin is over. */
  readonly signal: AbortSignal;
  /** Where the request came from. */
  readonly source: CallSource;
  /** W3C trace context and baggage to send with outbound requests (lower-case header names). */
  traceHeaders(): Readonly<Record<string, string>>;
  /** Adds members to the audit record of this request (`session_id`); never content or secrets. */
  audit(extra: AuditExtra): void;
}

/** The caller's side of the connection. */
export interface CallSource {
  /** IP address, after trusted proxies were peeled off. */
  readonly address: string;
  readonly userAgent: string | undefined;
  /** Whether the caller is on this very machine and no proxy speaks for it: no header of one, no HTTP/1.0. */
  readonly isLoopback: boolean;
}
