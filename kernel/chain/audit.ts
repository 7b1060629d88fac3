import { Readable } from 'node:stream';
import type { AuditEntry } from '../../foundation/audit/audit-entry.ts';
import type { AuditTrail } from '../../foundation/audit/audit-trail.ts';
import { auditDetail } from '../../foundation/audit/sanitize.ts';
import type { Clock } from '../../foundation/base/clock.ts';
import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import type { Ids } from '../../foundation/base/ids.ts';
import { HTTP_STATUS } from '../../foundation/errors/status.ts';
import { redactText } from '../../foundation/observability/redact-text.ts';
import type { CallState, Outcome } from './call-state.ts';
import type { Context, Middleware } from './request-state.ts';

/**
 * Records the request (specification 1, Audit; decisions 1.4). The record is in the journal before the last bytes of an
 * answer leave, so that nothing a client has seen can be missing after a crash; of a body that Koa pipes it follows.
 * Of a client that left earlier it says 499. When the trail is full the request waits, and is refused, not unrecorded.
 */
export function audit(trail: AuditTrail, ids: Ids, clock: Clock): Middleware {
  return async function auditRequest(context, next) {
    const room = trail.room();
    if (room !== undefined) await waitForRoom(room);
    const { state } = context;
    let isRecorded = false;
    const record = (outcome: Outcome) => {
      if (isRecorded || !concernsAudit(state, state.match.kind === 'route')) return undefined;
      isRecorded = true;
      return trail.record(auditEntry(state, subjectOf(context), outcome, ids, clock));
    };
    state.whenDone(record);
    const answered = (status: number) =>
      state.isAborted ? undefined : record({ status, duration: clock.monotonic() - state.startedAt });
    const beforeEnd = () => answered(context.status);
    state.beforeEnd = beforeEnd;
    try {
      await next();
    } catch (thrown) {
      const error = state.errorOf(thrown);
      state.errorCode = error.code;
      if (!context.res.headersSent) await answered(HTTP_STATUS[error.kind]);
      throw error;
    }
    if (state.answer !== undefined) await answered(state.answer.status);
    else if (context.respond !== false && !(context.body instanceof Readable)) await answered(context.status);
  };
}

/** Characters of what a client may make as long as it likes. */
const MAX_ACTION = 2048;
const MAX_USER_AGENT = 256;

/** Waits until the trail has room. @throws `gateway.overloaded` when that takes too long. */
export async function waitForRoom(room: Promise<void>): Promise<void> {
  try {
    await room;
  } catch (cause) {
    throw KernelErrors.overloaded('The audit trail is full', { cause, headers: { 'retry-after': '5' } });
  }
}

/** Everything that a credential did or tried; of callers without one only what leads nowhere (`isKnown` is false). */
export function concernsAudit(state: CallState, isKnown: boolean): boolean {
  const { identity, failure, errorCode, auditExtra } = state;
  if (auditExtra.actor !== undefined) return true;
  if (errorCode === KernelErrors.rateLimited.definition.code && identity.tenantId === '') return false;
  return identity.tenantId !== '' || failure !== undefined || !isKnown;
}

/** What was called. */
export interface AuditedSubject {
  /** `GET /v1/me`, `GRPC /svc.agent.v1.AgentService/GetAgent`: as the client sent it. */
  readonly action: string;
  /** Without its question mark; empty where there is none. */
  readonly query: string;
}

/** The record of a call (decisions 1.4). */
export function auditEntry(
  state: CallState,
  subject: AuditedSubject,
  outcome: Outcome,
  ids: Ids,
  clock: Clock,
): AuditEntry {
  const { userAgent } = state;
  const { actor, sessionId } = state.auditExtra;
  const failure = actor === undefined ? state.failure : undefined;
  const caller = actor ?? state.identity;
  return {
    id: ids.uuid(),
    tenantId: failure === undefined ? caller.tenantId : (failure.tenantId ?? ''),
    userId: failure === undefined ? caller.id : (failure.identityId ?? ''),
    // A client that mistakes a key for an id puts it into the path: not even then is it stored.
    action: redactText(subject.action).slice(0, MAX_ACTION),
    detail: auditDetail(subject.query, state.bodyFields, state.userHeader, state.auditExtra, failure),
    requestId: state.requestId,
    statusCode: outcome.status,
    latencyMs: Math.round(outcome.duration),
    createdAt: new Date(clock.now()),
    sessionId: sessionId === undefined ? undefined : redactText(sessionId),
    sourceIp: state.sourceAddress,
    userAgent: userAgent === undefined ? undefined : redactText(userAgent).slice(0, MAX_USER_AGENT),
    errorCode: failure === undefined ? state.errorCode : 'AUTH_FAILED',
    authMethod: caller.method,
  };
}

function subjectOf({ req, state }: Context): AuditedSubject {
  const url = req.url ?? '';
  const query = url.length > state.path.length ? url.slice(state.path.length + 1) : '';
  return { action: `${req.method} ${state.path}`, query };
}
