import test from 'ava';
import pino from 'pino';
import type { SendOptions } from '../../../../foundation/messages/hints/hints.ts';
import {
  createNotifier,
  type NotifyResult,
  replicaMessages,
} from '../../../../plugins/workflow/services/replica-messages.ts';
import { manualClock } from '../../../../testing/index.ts';
import { until } from '../../../support/until.ts';

const PLACE = { tenantId: 'tenant', runId: 'run' };
const HINT = { tenant_id: 'tenant', run_id: 'run' };
const DAY = 24 * 60 * 60 * 1000;

function bench(publish: (options: SendOptions) => Promise<boolean> = async () => true) {
  const clock = manualClock(1_000_000);
  const sent: SendOptions[] = [];
  const emitted: unknown[] = [];
  const results: NotifyResult[] = [];
  const lines: string[] = [];
  const wake = createNotifier({
    clock,
    messages: replicaMessages('workflow'),
    log: pino({ level: 'warn' }, { write: (line) => lines.push(line) }),
    events: { emit: (event, payload) => emitted.push([event.id, payload]) },
    queue: {
      send: (queue, payload, options = {}) => {
        if (queue.id !== 'workflow.look') throw new Error(queue.id);
        if (JSON.stringify(payload) !== JSON.stringify(HINT)) throw new Error('another run');
        sent.push(options);
        return publish(options);
      },
    },
    count: (result) => results.push(result),
  });
  return { wake, sent, emitted, results, lines, clock };
}

test('a look now is one message, named by the run', async (t) => {
  const { wake, sent, results } = bench();
  wake.poll(PLACE);
  await until(() => results.length === 1);
  t.deepEqual(sent, [{ id: 'run', delay: 0 }]);
  t.deepEqual(results, ['sent']);
});

test('a look tomorrow does not stand in the way of one now, and timers that end together are one message, at their end', (t) => {
  const { wake, sent, clock } = bench();
  wake.poll(PLACE, 5_010);
  wake.poll(PLACE);
  clock.advance(20);
  wake.poll(PLACE, 5_000);
  const ids = sent.map(({ id }) => id);
  t.is(ids[0], ids[2]);
  t.not(ids[0], ids[1]);
  t.deepEqual(
    sent.map(({ delay }) => delay),
    [5_100, 0, 5_080],
  );
});

test('ids and delays are what the queue takes: letters, digits and dots; whole numbers up to a day', (t) => {
  const { wake, sent } = bench();
  for (const delay of [0, 0.4, 1, 99.5, DAY - 1, DAY, 400 * DAY]) wake.poll(PLACE, delay);
  for (const { id = '', delay = 0 } of sent) {
    t.regex(id, /^[A-Za-z0-9._-]{1,128}$/);
    t.true(Number.isInteger(delay) && delay >= 0 && delay <= DAY, String(delay));
  }
});

test('a queue that is full, away or broken costs nobody anything but a count', async (t) => {
  const away = bench(async () => false);
  t.notThrows(() => away.wake.poll(PLACE));
  await until(() => away.results.length === 1);
  t.deepEqual(away.results, ['lost']);
  const broken = bench(() => Promise.reject(new Error('broken')));
  t.notThrows(() => broken.wake.poll(PLACE));
  await until(() => broken.results.length === 1);
  t.deepEqual(broken.results, ['failed']);
  t.like(JSON.parse(broken.lines[0]!), { ...HINT, err: { message: 'broken' } });
});

test('no more than 1,000 messages are on their way at one time', async (t) => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const { wake, sent, results } = bench(() => promise);
  for (let index = 0; index < 1_010; index += 1) wake.poll(PLACE);
  await until(() => results.length === 10);
  t.is(sent.length, 1_000);
  resolve(true);
  await until(() => results.length === 1_010);
  wake.poll(PLACE);
  t.is(sent.length, 1_001);
});

test('the owner of a run is told through an event; an event that cannot go out harms nobody', (t) => {
  const { wake, emitted } = bench();
  wake.changed(PLACE);
  t.deepEqual(emitted, [['workflow.run-touched', HINT]]);
  const mute = createNotifier({
    clock: manualClock(),
    messages: replicaMessages('workflow'),
    log: pino({ level: 'silent' }),
    count: () => undefined,
    queue: { send: async () => false },
    events: {
      emit: () => {
        throw new Error('no');
      },
    },
  });
  t.notThrows(() => mute.changed(PLACE));
});

test('an engine of another name has messages of its own', (t) => {
  const { look, touched, follow, changed } = replicaMessages('execution');
  t.deepEqual(
    [look, touched, follow, changed].map(({ id }) => id),
    ['execution.look', 'execution.run-touched', 'execution.follow', 'execution.changed'],
  );
});
