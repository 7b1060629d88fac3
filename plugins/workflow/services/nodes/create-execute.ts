import { type Clock, causesOf, isDatabaseUnavailable, type Logger, type Tenants } from 'agent-gateway';
import type { JsonObject } from '../../contract/graph.ts';
import { type NodeType, StepFailure, type StepResult, type StepTask } from '../../contract/node-types.ts';
import { type Execute, MAX_RECORD, type NodeTypes } from '../ports/execution.ts';
import { type Redactor, redactJson } from '../views/redaction.ts';
import { retryWhile } from './retry-while.ts';

/** Milliseconds between tries of a step while the gateway's own database does not answer. */
const AWAY_PAUSE = { first: 100, most: 2_000 };

/** What carries out steps. */
export interface ExecuteParts {
  readonly types: NodeTypes;
  readonly tenants: Pick<Tenants, 'get'>;
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Makes what carries out automatic steps: finds the type of the node and calls it. A type that is not registered fails
 * the step as `node_type_missing`, which may be retried; steps of a deleted tenant fail (`tenant_deleted`). What a type
 * reports of an attempt (its record, the message of a failure) is redacted, with `duration_ms`; a record that is too
 * large is left out, which the log and the record say. The runner handles deadlines, and decides whether the output may
 * be kept.
 *
 * While the gateway's own database is away a step does not fail, which would pause its run: the type is called again
 * until it answers, or the step is over.
 */
export function createExecute({ types, tenants, redactor, clock, log }: ExecuteParts): Execute {
  /** A record as it may be kept. */
  function kept(record: JsonObject | undefined, startedAt: number, own: Logger): JsonObject {
    const duration = { duration_ms: Math.max(0, Math.round(clock.monotonic() - startedAt)) };
    if (record === undefined) return duration;
    try {
      const shown = redactJson(redactor, { ...duration, ...record });
      const size = Buffer.byteLength(JSON.stringify(shown));
      if (size <= MAX_RECORD) return shown;
      own.warn({ bytes: size }, 'the record of an attempt is too large and is left out');
      return { ...duration, left_out: `a record of ${size} bytes; ${MAX_RECORD} are kept at most` };
    } catch (err) {
      own.warn({ err }, 'the record of an attempt is no JSON and is left out');
      return { ...duration, left_out: 'a record that is no JSON' };
    }
  }

  async function carryOut(type: NodeType, task: StepTask): Promise<StepResult> {
    const startedAt = clock.monotonic();
    try {
      const result = await whenDatabaseIsThere(task, async () => {
        await requireLiveTenant(tenants, task.tenantId);
        return type.execute(task);
      });
      return {
        output: result.output,
        record: kept(result.record, startedAt, task.log),
        ...(result.also !== undefined && { also: (entities) => result.also!(entities) }),
      };
    } catch (error) {
      // A step that was aborted from outside is no failure of its type: the runner knows the reason.
      if (task.signal.aborted || !(error instanceof StepFailure)) throw error;
      const { code, message, isRetryable, retryAfterMs, cause } = error;
      const record = kept(error.record, startedAt, task.log);
      throw new StepFailure(code, redactor.redact(message), { isRetryable, retryAfterMs, record, cause });
    }
  }

  return async ({ run, step, signal }) => {
    const type = types.get(step.nodeType);
    if (type === undefined) throw missing(step.nodeType);
    return carryOut(type, {
      tenantId: run.tenantId,
      runId: run.id,
      stepRunId: step.id,
      nodeId: step.nodeId,
      nodeName: step.nodeName,
      attempt: step.attempt,
      delivery: step.delivery,
      idempotencyKey: `${step.id}-${step.attempt}`,
      input: step.input ?? {},
      startedBy: run.startedBy,
      userId: run.userId ?? run.startedBy,
      signal,
      log: log.child({ tenant_id: run.tenantId, run_id: run.id, step_run_id: step.id, node: step.nodeId }),
    });
  };
}

/**
 * Credentials of a deleted tenant are refused already; its runs must not go on calling other services, at the
 * operator's cost.
 */
async function requireLiveTenant(tenants: Pick<Tenants, 'get'>, tenantId: string): Promise<void> {
  const tenant = await tenants.get(tenantId);
  if (tenant === undefined || tenant.deletedAt === null) return;
  throw new StepFailure(
    'tenant_deleted',
    'The tenant is deleted, and nothing is done for it. When it is restored, try again.',
    { isRetryable: false },
  );
}

function whenDatabaseIsThere(task: StepTask, execute: () => Promise<StepResult>): Promise<StepResult> {
  const patience = {
    isPassing: (thrown: unknown) => causesOf(thrown).some(isDatabaseUnavailable),
    pauses: AWAY_PAUSE,
    begins: (err: unknown) => task.log.warn({ err }, 'the database does not answer: the step is tried again'),
  };
  return retryWhile(execute, patience, task.signal);
}

function missing(name: string): StepFailure {
  const end = name.indexOf('/');
  const message =
    end < 0
      ? `This gateway has no node type "${name}".`
      : `The node type "${name}" is not here: it needs the plugin "${name.slice(0, end)}". Have the operator enable it, then try again.`;
  return new StepFailure('node_type_missing', message);
}
