import type { ExecutionContext } from 'ava';
import pino from 'pino';
import { createRedaction } from '../../../../../foundation/redaction/redaction.ts';
import type { JsonObject } from '../../../../../plugins/workflow/contract/graph.ts';
import { StepFailure, type StepTask } from '../../../../../plugins/workflow/contract/node-types.ts';

/** The real redaction; preparing it takes a moment. */
export const redaction = createRedaction();

/** A credential that the redaction knows by its looks. */
export const CREDENTIAL = `ghp_${'aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5'}`;

export const TENANT = '00000000-0000-0000-0000-000000000001';

/** A log whose lines can be read. */
export function heardLog() {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { log, lines };
}

/** One delivery of a step with this input. */
export function stepTask(input: JsonObject, parts: Partial<StepTask> = {}): StepTask {
  const { stepRunId = '01900000-0000-7000-8000-000000000051', attempt = 1 } = parts;
  return {
    tenantId: TENANT,
    runId: '01900000-0000-7000-8000-000000000041',
    stepRunId,
    nodeId: 'node',
    nodeName: 'Node',
    attempt,
    delivery: 1,
    idempotencyKey: `${stepRunId}-${attempt}`,
    input,
    startedBy: 'key-1',
    userId: 'key-1',
    signal: new AbortController().signal,
    log: pino({ enabled: false }),
    ...parts,
  };
}

/** The failure of a step; fails the test for anything else. */
export async function failureOf(t: ExecutionContext, work: Promise<unknown>): Promise<StepFailure> {
  const error = await t.throwsAsync(work);
  if (error instanceof StepFailure) return error;
  throw new Error('not a failure of a step', { cause: error });
}
