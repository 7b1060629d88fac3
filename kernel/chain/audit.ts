import { Readable } from 'node:stream';
import type { AuditTrail } from '../audit/audit-trail.ts';
import { auditDetail } from '../audit/sanitize.ts';
import { KernelErrors } from '../errors/catalogue.ts';
import { HTTP_STATUS } from '../errors/status.ts';
import type { Outcome } from '../http/request-state.ts';
import type { Context, Stage } from '../http/stage.ts';
import { redactText } from '../observability/redact-text.ts';
import type { Clock } from '../services/clock.ts';
import type { Ids } from '../services/ids.ts';

/**
 * Records the request (specification 1, Audit; decisions 1.4). The record is in the journal before the last bytes of an
 * answer leave, so that nothing a client has seen can be missing after a crash; of a stream it follows at its end, and of
 * a client that left earlier it says 499. When the trail is full the request waits here, before it does anything, and is
 * refused rather than served unrecorded.
 */
export function audit(trail: AuditTrail, ids: Ids, clock: Clock): Stage {
  return async function auditRequest(context, next) {
    const room = trail.room();
    if (room !== undefined) await waitFor(room);
    const { state } = context;
    let isRecorded = false;
    const record = (outcome: Outcome) => {
      if (isRecorded || !concernsAudit(context)) return undefined;
      isRecorded = true;
      return trail.record(entryOf(context, outcome, ids, clock));
    };
    state.whenDone(record);
    const answered = (status: number) => {
      if (state.isAborted) return undefined;
      return record({ status, duration: clock.monotonic() - state.startedAt });
    };
    try {
      await next();
    } catch (thrown) {
      const error = state.errorOf(thrown);
      state.errorCode = error.code;
      if (!context.res.headersSent) await answered(HTTP_STATUS[error.kind]);
      throw error;
    }
    // What the client has seen whole must be in the journal; a stream is recorded at its end.
    if (state.answer !== undefined) await answered(state.answer.status);
    else if (context.respond !== false && !(context.body instanceof Readable)) await answered(context.status);
  };
}

/** Characters of what a client may make as long as it likes. */
const MAX_ACTION = 2048;
const MAX_USER_AGENT = 256;

async function waitFor(room: Promise<void>): Promise<void> {
  try {
    await room;
  } catch (cause) {
    throw KernelErrors.overloaded('The audit trail is full', { cause, headers: { 'retry-after': '5' } });
  }
}

/** Everything that a credential did or tried; of callers without one only what leads nowhere. */
function concernsAudit(context: Context): boolean {
  const { identity, failure, match, errorCode } = context.state;
  if (errorCode === KernelErrors.rateLimited.definition.code && identity.tenantId === '') return false;
  return identity.tenantId !== '' || failure !== undefined || match.kind !== 'route';
}

function entryOf(context: Context, outcome: Outcome, ids: Ids, clock: Clock) {
  const { state, req } = context;
  const url = req.url ?? '';
  const query = url.length > state.path.length ? url.slice(state.path.length + 1) : '';
  const { failure } = state;
  const userAgent = header(req.headers['user-agent']);
  return {
    id: ids.uuid(),
    tenantId: failure === undefined ? state.identity.tenantId : (failure.tenantId ?? ''),
    userId: failure === undefined ? state.identity.id : (failure.identityId ?? ''),
    // A client that mistakes a key for an id puts it into the path: not even then is it stored.
    action: redactText(`${req.method} ${state.path}`.slice(0, MAX_ACTION)),
    detail: auditDetail(query, state.bodyFields, header(req.headers['x-svc-user-id'])),
    requestId: state.requestId,
    statusCode: outcome.status,
    latencyMs: Math.round(outcome.duration),
    createdAt: new Date(clock.now()),
    sessionId: state.auditExtra.sessionId,
    sourceIp: state.sourceAddress,
    userAgent: userAgent === undefined ? undefined : redactText(userAgent.slice(0, MAX_USER_AGENT)),
    errorCode: failure === undefined ? state.errorCode : 'AUTH_FAILED',
    authMethod: state.identity.method,
  };
}

function header(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}
