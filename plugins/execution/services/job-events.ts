import type { JsonObject, RunEventRecord } from '../../workflow/contract.ts';

/** What happens in a job (decisions 3.7). After one of the last three nothing follows. */
export const JOB_EVENT_TYPES = [
  'job.started',
  'step.started',
  'step.completed',
  'step.failed',
  'job.waiting',
  'job.completed',
  'job.failed',
  'job.cancelled',
] as const;

export type JobEventType = (typeof JOB_EVENT_TYPES)[number];

/** One event of a job. Wire names. */
export interface JobEvent {
  /** Counts from 1 in its job, without gaps; the id of the event in a stream. */
  readonly seq: number;
  readonly type: JobEventType;
  readonly job_id: string;
  readonly node_id?: string;
  readonly data: JsonObject;
  readonly created_at: string;
}

/** True for the events after which nothing follows. */
export function isLast({ type }: Pick<JobEvent, 'type'>): boolean {
  return type === 'job.completed' || type === 'job.failed' || type === 'job.cancelled';
}

type Unnumbered = Omit<JobEvent, 'seq' | 'job_id'>;

/**
 * Derives the events of a job from those of its run. The result takes the events of the run from the first on, each
 * once and in order, and returns the job's events for each: none, one or several. The same events of a run give the
 * same events of the job with the same numbers, for every caller and after any crash, so the latter are not stored.
 *
 * `job.started` comes with the first step, not with the run, and not at all where a caller cancels before it. A step
 * that is delivered again after a crash emits no second `step.started`; steps that no worker carries out (start and
 * end) emit one like all others.
 */
export function createJobEvents(jobId: string): (event: RunEventRecord) => readonly JobEvent[] {
  let seq = 0;
  let isOver = false;
  /** What happened before the first step began; undefined afterwards. */
  let held: Unnumbered[] | undefined = [];
  const begun = new Set<string>();
  const waiting = new Set<string>();
  const outcomes = new Map<string, JsonObject>();

  function begin(node: string, at: RunEventRecord, data: JsonObject): readonly Unnumbered[] {
    begun.add(node);
    return [{ ...stepEvent('step.started', at), data }];
  }

  function end(node: string): void {
    begun.delete(node);
    waiting.delete(node);
    outcomes.delete(node);
  }

  function eventsOf(event: RunEventRecord): readonly Unnumbered[] {
    const { type, node_id: node = '', data, created_at } = event;
    switch (type) {
      case 'run.started':
        return [{ type: 'job.started', data: {}, created_at }];
      case 'step.started':
        return begun.has(node) ? [] : begin(node, event, pick(data, ['attempt']));
      case 'task.created':
        waiting.add(node);
        return begin(node, event, pick(data, ['attempt', 'assignee', 'outcomes', 'due_at']));
      case 'task.completed':
        outcomes.set(node, pick(data, ['outcome']));
        return [];
      case 'step.completed': {
        const first = begun.has(node) ? [] : begin(node, event, pick(data, ['attempt']));
        const completed = { ...pick(data, ['attempt']), ...outcomes.get(node) };
        end(node);
        return [...first, { ...stepEvent('step.completed', event), data: completed }];
      }
      case 'step.failed':
        end(node);
        return [{ ...stepEvent('step.failed', event), data: failureOf(data) }];
      case 'run.waiting':
        return [{ type: 'job.waiting', data: { node_ids: [...waiting] }, created_at }];
      case 'run.completed':
        return [{ type: 'job.completed', data: {}, created_at }];
      case 'run.paused':
        return [{ type: 'job.failed', data: failureOf(data), created_at }];
      case 'run.cancelled':
        return [{ type: 'job.cancelled', data: {}, created_at }];
      default:
        return [];
    }
  }

  /** The start of a run and the completion of its start node, with which every run begins. */
  function isPrelude({ type }: RunEventRecord): boolean {
    return type === 'run.started' || (type === 'step.completed' && held?.length === 1);
  }

  /** Holds back the events before the first step, and returns them with the time at which that step begins. */
  function released(event: RunEventRecord): readonly Unnumbered[] {
    const events = eventsOf(event);
    if (held === undefined || events.length === 0) return events;
    if (isPrelude(event)) {
      held.push(...events);
      return [];
    }
    if (event.type === 'run.cancelled') held = [];
    const before = held.map((one) => ({ ...one, created_at: event.created_at }));
    held = undefined;
    return [...before, ...events];
  }

  return (event) => {
    if (isOver) return [];
    return released(event).map((one) => {
      seq += 1;
      isOver ||= isLast(one);
      return { seq, job_id: jobId, ...one };
    });
  };
}

function stepEvent(type: JobEventType, { node_id, created_at }: RunEventRecord) {
  return { type, ...(node_id !== undefined && { node_id }), created_at };
}

function pick(data: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.flatMap((name) => (data[name] === undefined ? [] : [[name, data[name]]])));
}

/** Why something failed, with the node under the name that it has on the wire of jobs. */
function failureOf(data: JsonObject): JsonObject {
  const { node, ...error } = (data.error ?? {}) as JsonObject;
  return {
    ...pick(data, ['attempt', 'retry_at']),
    error: { ...error, ...(node !== undefined && { node_id: node }) },
  };
}
