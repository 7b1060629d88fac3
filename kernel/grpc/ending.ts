import type { AuditTrail } from '../../foundation/audit/audit-trail.ts';
import type { Clock } from '../../foundation/base/clock.ts';
import { GRPC_CODES } from '../../foundation/base/grpc-status.ts';
import type { Ids } from '../../foundation/base/ids.ts';
import type { LogFailure } from '../../foundation/errors/failure-log.ts';
import { renderGrpcError } from '../../foundation/errors/render-grpc.ts';
import { HTTP_STATUS } from '../../foundation/errors/status.ts';
import { encodeStatusDetails, STATUS_DETAILS } from '../../foundation/grpc/status-details.ts';
import type { Logger } from '../../foundation/observability/logger.ts';
import { auditEntry, concernsAudit } from '../chain/audit.ts';
import type { Outcome } from '../chain/call-state.ts';
import type { GrpcState } from './grpc-state.ts';

/** What the end of a call needs. */
interface EndingParts {
  readonly trail: AuditTrail;
  readonly log: Logger;
  readonly logFailure: LogFailure;
  readonly clock: Clock;
  readonly ids: Ids;
}

export type Ending = ReturnType<typeof createEnding>;

/**
 * The one end of a call: the first of the handler, a deadline, a stop and the client decides it. The audit record is in
 * the journal before the last message (of a stream: the status) leaves, so that a crash loses nothing a client saw.
 */
export function createEnding(state: GrpcState, { trail, log, logFailure, clock, ids }: EndingParts) {
  let isDecided = false;
  let isAudited = false;
  let isRecorded = false;

  /** The call failed, or was aborted. Nothing happens when its end is decided already. */
  async function fail(thrown: unknown): Promise<void> {
    if (isDecided) return;
    isDecided = true;
    const error = state.errorOf(thrown);
    state.errorCode = error.code;
    logFailure(state, error);
    const status = HTTP_STATUS[error.kind];
    await record(outcomeOf(status));
    const rendered = renderGrpcError(error);
    const { trailer } = state.stream;
    for (const [name, value] of Object.entries(rendered.trailers)) trailer.set(name, value);
    if (rendered.violations.length > 0) trailer.set(STATUS_DETAILS, encodeStatusDetails(rendered));
    state.sent({ code: rendered.code, status });
    send(rendered.code, rendered.details);
  }

  /** The call is settled in any case: a failure of its last bytes is logged here or nowhere. */
  function send(code: number, details: string, last?: Buffer): void {
    try {
      state.stream.end(code, details, last);
    } catch (err) {
      log.error({ err, requestId: state.requestId }, 'the end of a gRPC call was not sent');
      state.stream.cut();
    }
  }

  function outcomeOf(status: number): Outcome {
    return { status, duration: clock.monotonic() - state.startedAt };
  }

  function record(outcome: Outcome): Promise<void> | undefined {
    if (!isAudited || isRecorded || !concernsAudit(state, state.method !== undefined)) return undefined;
    isRecorded = true;
    return trail.record(auditEntry(state, { action: `GRPC ${state.path}`, query: '' }, outcome, ids, clock));
  }

  state.whenAborted((reason) => void fail(reason));
  state.whenDone((outcome) => {
    isDecided = true;
    void record(outcome);
  });

  return {
    fail,

    /** From here on the call gets an audit record. */
    beginAudit(): void {
      isAudited = true;
    },

    /** The call did what it should; `last` is its response, which a stream has sent already. */
    async succeed(last?: Buffer): Promise<void> {
      if (isDecided) return;
      isDecided = true;
      await record(outcomeOf(200));
      state.sent({ code: GRPC_CODES.OK, status: 200 });
      send(GRPC_CODES.OK, 'OK', last);
    },
  };
}
