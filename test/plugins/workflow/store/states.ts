import type { JsonObject } from '../../../../plugins/workflow/contract.ts';
import type { NewEvent } from '../../../../plugins/workflow/services/core/commands.ts';
import type { RunState, StepState } from '../../../../plugins/workflow/services/core/state.ts';
import { fakeIds } from '../../../../testing/index.ts';

const ids = fakeIds();

export const TENANT = '00000000-0000-7000-8000-00000000000a';
export const OTHER_TENANT = '00000000-0000-7000-8000-00000000000b';

/** A new id. */
export const newId = (): string => ids.uuid();

/** A step that is pending, with whatever is said of it. */
export function stepOf(nodeId: string, given: Partial<StepState> = {}): StepState {
  return {
    id: newId(),
    nodeId,
    nodeName: nodeId.toUpperCase(),
    nodeType: 'service_task',
    status: 'pending',
    attempt: 1,
    delivery: 0,
    lost: 0,
    readyAt: null,
    assignee: null,
    input: null,
    output: null,
    outcome: null,
    error: null,
    taken: null,
    completion: null,
    dueAt: null,
    createdAt: 1_700_000_000_000,
    startedAt: null,
    completedAt: null,
    ...given,
  };
}

/** A run of the first revision. */
export function runOf(
  given: Partial<Omit<RunState, 'steps'>> = {},
  steps: readonly StepState[] = [],
): RunState {
  return {
    id: newId(),
    tenantId: TENANT,
    definitionId: 'invoices',
    versionId: newId(),
    version: 1,
    status: 'running',
    revision: 1,
    seq: 0,
    input: {},
    variables: {},
    error: null,
    owner: null,
    wakeAt: null,
    startedBy: 'user-1',
    userId: null,
    startedAt: 1_700_000_000_000,
    begunAt: null,
    completedAt: null,
    updatedAt: 1_700_000_000_000,
    ...given,
    steps: new Map(steps.map((step) => [step.nodeId, step])),
  };
}

/** The next state of a run: with other members, and with steps in place of those of the same nodes. */
export function nextOf(
  before: RunState,
  given: Partial<Omit<RunState, 'steps'>> = {},
  steps: readonly StepState[] = [],
): RunState {
  const all = new Map(before.steps);
  for (const step of steps) all.set(step.nodeId, step);
  return { ...before, revision: before.revision + 1, updatedAt: before.updatedAt + 1, ...given, steps: all };
}

/** Events of a run, numbered from `from` on. */
export function eventsOf(from: number, count: number, data: JsonObject = {}): NewEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    seq: from + index,
    type: 'step.started',
    nodeId: 'a',
    stepId: null,
    data,
    createdAt: 1_700_000_000_000,
  }));
}

/** A run in a form that compares: its steps by the names of their nodes. */
export function comparable(run: RunState | undefined): unknown {
  if (run === undefined) return undefined;
  const { steps, ...rest } = run;
  return { ...rest, steps: Object.fromEntries([...steps].sort(([a], [b]) => (a < b ? -1 : 1))) };
}

/** JSON that some databases would change: parsed, since a literal `__proto__` is none. */
export const NASTY: JsonObject = JSON.parse(`{
  "nul": "a\\u0000b", "half": "\\ud800 \\udc00", "whole": "😀", "quotes": "'\\"\\\\ -- ; $1 ? :a %s", "": 0,
  "__proto__": {"polluted": true}, "constructor": {"prototype": null}, "z": 1, "a": 2, "10": 3, "9": 4,
  "big": [9007199254740993, 1e308, -1e-308, 5e-324, 0.1, 123456789012345678901234567890],
  "nothing": [null, false, "", [], {}, [[[[]]]]], "null": null, "lines": "\\n\\r\\t\\u2028\\u0008", "blanks": "  a  "
}`);

/** An object that is nested so deep. */
export function nested(depth: number): JsonObject {
  let value: JsonObject = { end: true };
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? { in: value } : { in: [value] };
  return value;
}
