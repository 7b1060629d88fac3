import test from 'ava';
import type { JsonObject } from '../../../../../plugins/workflow/contract/graph.ts';
import type { RunEventType, StepRecord, StepStatus } from '../../../../../plugins/workflow/contract/runs.ts';
import { toStepHistory } from '../../../../../plugins/workflow/services/views/step-history.ts';

function history(status: StepStatus, ...events: readonly [RunEventType, JsonObject][]) {
  const stored = events.map(([type, data], index) => ({
    seq: index + 1,
    type,
    data,
    nodeId: 'n',
    stepId: 's',
    createdAt: index * 1000,
  }));
  return toStepHistory({ status } as StepRecord, stored).attempts;
}

const at = (seconds: number) => new Date(seconds * 1000).toISOString();

test('each delivery of each attempt has an entry, with what came of it', (t) => {
  const error = { code: 'service_status', message: '503' };
  const attempts = history(
    'completed',
    ['step.started', { attempt: 1, delivery: 1 }],
    ['warning', { reference: 'input.x' }],
    ['step.failed', { attempt: 1, delivery: 1, error, record: { status: 503 } }],
    ['step.started', { attempt: 2, delivery: 1 }],
    ['step.started', { attempt: 2, delivery: 2 }],
    ['step.completed', { attempt: 2, delivery: 2, record: { status: 200 } }],
  );
  t.deepEqual(attempts, [
    {
      attempt: 1,
      delivery: 1,
      status: 'failed',
      started_at: at(0),
      completed_at: at(2),
      error,
      record: { status: 503 },
    },
    {
      attempt: 2,
      delivery: 1,
      status: 'interrupted',
      started_at: at(3),
      completed_at: null,
      error: null,
      record: null,
    },
    {
      attempt: 2,
      delivery: 2,
      status: 'completed',
      started_at: at(4),
      completed_at: at(5),
      error: null,
      record: { status: 200 },
    },
  ]);
});

test('a delivery that goes on is running; one that was given back is interrupted', (t) => {
  const started = ['step.started', { attempt: 1, delivery: 1 }] as const;
  t.is(history('running', [...started])[0]!.status, 'running');
  t.is(history('pending', [...started])[0]!.status, 'interrupted');
});

test('a human task has one entry for an attempt, however it ends', (t) => {
  const created = (attempt: number) => ['task.created', { attempt }] as [RunEventType, JsonObject];
  const done = ['step.completed', { attempt: 1, delivery: 0 }] as [RunEventType, JsonObject];
  const completed = history('completed', created(1), ['task.completed', { by: 'ada' }], done);
  t.deepEqual(
    completed.map(({ attempt, delivery, status }) => [attempt, delivery, status]),
    [[1, 1, 'completed']],
  );
  const timedOut = history(
    'waiting',
    created(1),
    ['task.timed_out', { attempt: 1 }],
    ['step.failed', { attempt: 1, delivery: 0, error: { code: 'human_task_timeout', message: '' } }],
    created(2),
  );
  t.deepEqual(
    timedOut.map(({ status }) => status),
    ['failed', 'running'],
  );
});

test('what was never delivered has an entry where it ended, and none where it was skipped', (t) => {
  t.deepEqual(
    history('completed', ['step.completed', { attempt: 1, delivery: 0 }]).map(({ status }) => status),
    ['completed'],
  );
  t.deepEqual(history('skipped', ['step.skipped', {}]), []);
});
