import type { AuditTrail } from '../audit/audit-trail.ts';
import type { Clock } from '../base/clock.ts';
import { KernelErrors } from '../base/error-catalogue.ts';
import type { Ids } from '../base/ids.ts';
import { redactText } from '../observability/redact-text.ts';
import type { EgressContext } from './egress.ts';
import { EgressErrors, type EgressRefusal } from './errors.ts';

/** The action under which denied requests are found in the audit log (specification 1, Audit log record). */
export const EGRESS_DENIED = 'egress.denied';

/**
 * Makes the function that records a denial in the audit log, and resolves when the record can no longer be lost with
 * the process. Every denial has a record of its own: callers are rate limited. While the trail is full it waits for
 * room, and throws `gateway.overloaded` rather than deny unrecorded.
 */
export function createDenials(trail: Pick<AuditTrail, 'record' | 'room'>, clock: Clock, ids: Ids) {
  return async (
    tenantId: string,
    { requestId = '', userId = '', sessionId }: EgressContext,
    { host, port, reason }: EgressRefusal,
    /** Milliseconds. */
    duration: number,
  ): Promise<void> => {
    await trail.room()?.catch((cause: unknown) => {
      throw KernelErrors.overloaded('The audit trail is full', { cause, headers: { 'retry-after': '5' } });
    });
    await trail.record({
      id: ids.uuid(),
      tenantId,
      userId,
      action: EGRESS_DENIED,
      // A caller may mistake a key for a host name: not even then is it stored.
      detail: { host: redactText(host), port, reason },
      requestId,
      statusCode: 403,
      latencyMs: Math.round(duration),
      createdAt: new Date(clock.now()),
      sessionId,
      errorCode: EgressErrors.denied.definition.code,
    });
  };
}
