import type { AuditExtra } from '../../foundation/audit/audit-entry.ts';
import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import type { Database } from '../../foundation/data/database.ts';
import type { TenantEntityManager } from '../../foundation/data/tenant-entity-manager.ts';
import { userIdProblem } from '../../foundation/http/user-id.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import type { Identity } from '../access/identity.ts';
import type { Call, CallSource } from '../api/call.ts';
import { AuthErrors } from '../auth/errors.ts';
import type { TenantRecord } from '../tenancy/tenants.ts';
import type { CallState } from './call-state.ts';

/** What a call needs from the kernel. */
export interface CallServices {
  readonly database: Database;
  readonly log: Logger;
}

/** What handlers of every transport see of a call. What costs something is made at its first use. */
export abstract class StateCall<S extends CallState = CallState> implements Call {
  protected readonly state: S;
  readonly #services: CallServices;
  #log: Logger | undefined;

  constructor(state: S, services: CallServices) {
    this.state = state;
    this.#services = services;
  }

  get identity(): Identity {
    return this.state.identity;
  }

  get tenant(): TenantRecord {
    const { tenant } = this.state;
    if (tenant === undefined) throw AuthErrors.required();
    return tenant;
  }

  // Getters of functions: handlers take calls apart, and most use none of them.
  get entities(): () => TenantEntityManager {
    return () => this.#services.database.forTenant(this.tenant.id);
  }

  get userId(): string | undefined {
    const { userHeader } = this.state;
    if (userHeader === undefined || userHeader === '') return undefined;
    const message = userIdProblem(userHeader);
    if (message === undefined) return userHeader;
    const errors = [{ pointer: '/headers/x-svc-user-id', message }];
    throw KernelErrors.invalidRequest(undefined, { errors });
  }

  get requestId(): string {
    return this.state.requestId;
  }

  get log(): Logger {
    this.#log ??= this.#services.log.child({
      plugin: this.state.owner,
      requestId: this.requestId,
      tenantId: this.state.tenant?.id,
      identity: this.identity.id,
    });
    return this.#log;
  }

  get signal(): AbortSignal {
    return this.state.signal;
  }

  get source(): CallSource {
    const { sourceAddress, userAgent, isLoopback } = this.state;
    return { address: sourceAddress, userAgent, isLoopback };
  }

  get traceHeaders(): () => Readonly<Record<string, string>> {
    return () => this.state.trace.headers();
  }

  get audit(): (extra: AuditExtra) => void {
    return (extra) => {
      this.state.auditExtra = { ...this.state.auditExtra, ...extra };
    };
  }
}
