import type { Identity } from '../access/identity.ts';
import type { AuditExtra, Call, CallSource } from '../api/call.ts';
import { AuthErrors } from '../auth/errors.ts';
import type { Database } from '../database/database.ts';
import type { TenantEntityManager } from '../database/tenant-entity-manager.ts';

import type { Logger } from '../observability/logger.ts';
import type { TenantRecord } from '../tenancy/tenant-record.ts';
import type { Context } from './stage.ts';

/** What a call needs from the kernel. */
export interface CallServices {
  readonly database: Database;
  readonly log: Logger;
}

/** One HTTP request as a handler sees it. What costs something is made at its first use. */
export class HttpCall implements Call {
  // Assigned by the handler stage from what the validators passed; the route's schemas type them.
  params: unknown;
  query: unknown;
  headers: unknown;
  body: unknown;
  readonly #context: Context;
  readonly #services: CallServices;
  #log: Logger | undefined;

  constructor(context: Context, services: CallServices) {
    this.#context = context;
    this.#services = services;
  }

  get identity(): Identity {
    return this.#context.state.identity;
  }

  get tenant(): TenantRecord {
    const { tenant } = this.#context.state;
    if (tenant === undefined) throw AuthErrors.required();
    return tenant;
  }

  entities(): TenantEntityManager {
    return this.#services.database.forTenant(this.tenant.id);
  }

  get userId(): string | undefined {
    const header = this.#context.req.headers['x-svc-user-id'];
    return typeof header === 'string' && header !== '' ? header.slice(0, 256) : undefined;
  }

  get requestId(): string {
    return this.#context.state.requestId;
  }

  get log(): Logger {
    this.#log ??= this.#services.log.child({
      requestId: this.requestId,
      tenantId: this.#context.state.tenant?.id,
      identity: this.identity.id,
    });
    return this.#log;
  }

  get signal(): AbortSignal {
    return this.#context.state.signal;
  }

  get source(): CallSource {
    return { address: this.#context.state.sourceAddress, userAgent: this.#context.req.headers['user-agent'] };
  }

  traceHeaders(): Readonly<Record<string, string>> {
    return this.#context.state.trace.headers();
  }

  audit(extra: AuditExtra): void {
    const { state } = this.#context;
    state.auditExtra = { ...state.auditExtra, ...extra };
  }
}
