import { cozeCode, KernelErrors } from 'agent-gateway';
import type { JsonObject, RunPlace, RunRecord, WorkflowEngine } from '../../../workflow/contract.ts';

/** The only kind of interrupt, a human task that a person has to complete: the SDK's number of a question. */
const QUESTION = 2;
/** The title of the message that holds the result. */
const END_TITLE = 'End';

/** One event of a workflow's stream (the SDK's `WorkflowEvent`). */
export interface WorkflowStreamEvent {
  /**
   * The `seq` of the stored event that it comes from; undefined for an error that only reports that the run is paused.
   */
  readonly seq: number | undefined;
  readonly event: 'Message' | 'Interrupt' | 'Error' | 'Done';
  readonly data: object;
  /** Only in the message that holds the result. */
  readonly result?: JsonObject;
}

/** Names a waiting task to clients: run and step. */
export const eventIdOf = (runId: string, stepRunId: string) => `${runId}/${stepRunId}`;

/**
 * The stream of a run, made of its stored events: a message for each finished node, an interrupt for each task that
 * waits, and the end. Ends when the run has ended, is paused, or waits only for people. Throws `gateway.draining` when
 * the engine stops before that, and `workflow.run-not-found` when the run is deleted.
 *
 * @param after only events after this `seq`
 */
export async function* workflowEvents(
  engine: WorkflowEngine,
  place: RunPlace,
  { after, signal }: { readonly after: number | undefined; readonly signal: AbortSignal },
): AsyncGenerator<WorkflowStreamEvent> {
  // A client that has read all of a run that rests would wait for an event that may never come.
  const before = await restingAt(engine, place, after ?? 0);
  if (before?.status === 'paused') yield failed(undefined, reasonOf(before));
  if (before !== undefined) return;
  /** Of the end node that was reached last: its event has the result, however many ends a run has. */
  let endSeq: number | undefined;
  for await (const event of engine.follow({ ...place, after, signal })) {
    const { seq, type, step_run_id: stepRunId = '' } = event;
    switch (type) {
      case 'step.completed': {
        const step = await engine.step({ ...place, stepRunId });
        if (step.node_type === 'end') endSeq = seq;
        else if (step.node_type !== 'start') yield message(seq, step.node_name, step.output ?? {});
        break;
      }
      case 'task.created': {
        const { status, attempt, node_name } = await engine.step({ ...place, stepRunId });
        // A task that a retry has opened again waits once: with the event of that.
        if (status !== 'waiting' || attempt !== event.data.attempt) break;
        const interrupt = { event_id: eventIdOf(place.runId, stepRunId), type: QUESTION };
        yield { seq, event: 'Interrupt', data: { interrupt_data: interrupt, node_title: node_name } };
        break;
      }
      case 'run.completed': {
        // A client that has read the result has the number of the last end already.
        const result = endSeq === undefined ? null : await engine.result(place);
        if (endSeq !== undefined && result !== null) yield { ...message(endSeq, END_TITLE, result), result };
        yield { seq, event: 'Done', data: {} };
        return;
      }
      case 'run.cancelled':
        yield failed(seq, 'The run was cancelled');
        return;
    }
    const resting = await restingAt(engine, place, seq);
    if (resting?.status === 'paused') {
      // A step that ended after the pause has the last number: its message has that as id.
      yield failed(type === 'run.paused' ? seq : undefined, reasonOf(resting));
    }
    if (resting !== undefined) return;
  }
  if (signal.aborted) return;
  const { status } = await engine.get(place);
  // A client that has read all of a run gets nothing more. Of one that goes on, an end in order would say that it
  // waits.
  if (status !== 'completed' && status !== 'cancelled')
    throw KernelErrors.draining(`The gateway stops, and the run ${place.runId} goes on: stream it again.`);
}

/** Why a run is paused. */
export function reasonOf({ error }: Pick<RunRecord, 'error'>): string {
  return error === null ? 'The run is paused' : `${error.code}: ${error.message}`;
}

/** The run, where no event follows until a person acts. */
async function restingAt(engine: WorkflowEngine, place: RunPlace, seq: number) {
  const { events } = await engine.events({ ...place, after: seq, limit: 1 });
  if (events.length > 0) return undefined;
  const run = await engine.get(place);
  return run.status === 'waiting' || run.status === 'paused' ? run : undefined;
}

function message(seq: number, title: string, output: JsonObject): WorkflowStreamEvent {
  const data = { content: JSON.stringify(output), node_title: title, node_seq_id: '0', node_is_finish: true };
  return { seq, event: 'Message', data };
}

function failed(seq: number | undefined, reason: string): WorkflowStreamEvent {
  const data = { error_code: cozeCode({ kind: 'upstream' }), error_message: reason };
  return { seq, event: 'Error', data };
}
