import test from 'ava';
import pino from 'pino';
import { createReadiness } from '../../../foundation/observability/readiness.ts';
import { redactText } from '../../../foundation/observability/redact-text.ts';

test('a check that fails with anything at all is not ready, with a reason', async (t) => {
  for (const [failure, reason] of [
    [new Error('down'), 'down'],
    [Object.assign(new Error(''), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    ['down', 'down'],
    [undefined, 'unknown'],
    [null, 'unknown'],
    [{ message: 7 }, 'unknown'],
  ]) {
    const { status, checks } = await createReadiness({
      withoutSecrets: redactText,
      isServing: () => true,
      pingDatabase: async () => undefined,
      probes: () => [{ name: 'acme', check: () => Promise.reject(failure) }],
      degraded: () => [],
      log: pino({ enabled: false }),
    })();
    t.is(status, 'not_ready');
    t.deepEqual(checks, [{ name: 'acme', state: 'error', reason }] as never);
  }
});

test('calls that come during a check share it, and the next one asks anew', async (t) => {
  let pings = 0;
  let probes = 0;
  let answer = () => {};
  const readiness = createReadiness({
    withoutSecrets: redactText,
    isServing: () => true,
    pingDatabase() {
      pings += 1;
      return new Promise((resolve) => {
        answer = resolve;
      });
    },
    probes: () => [
      {
        name: 'acme',
        check: async () => {
          probes += 1;
        },
      },
    ],
    degraded: () => [],
    log: pino({ enabled: false }),
  });
  const first = Array.from({ length: 100 }, readiness);
  answer();
  for (const { status } of await Promise.all(first)) t.is(status, 'ready');
  t.deepEqual([pings, probes], [1, 1]);
  const next = readiness();
  answer();
  t.is((await next).status, 'ready');
  t.deepEqual([pings, probes], [2, 2]);
});

test('a check that begins to fail is one line with its cause, however often it is asked, and its end another', async (t) => {
  const lines: Record<string, unknown>[] = [];
  let failure: Error | undefined;
  let isServing = false;
  const readiness = createReadiness({
    withoutSecrets: redactText,
    isServing: () => isServing,
    async pingDatabase() {
      if (failure !== undefined) throw failure;
    },
    probes: () => [],
    degraded: () => [],
    log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
  });
  failure = new Error('The database does not answer', { cause: new Error('connect ECONNREFUSED') });
  await readiness();
  t.deepEqual(lines, [], 'what fails during a start or a stop is told by these');
  isServing = true;
  for (const _ of [1, 2, 3]) t.is((await readiness()).status, 'not_ready');
  t.is(lines.length, 1);
  t.like(lines[0], { level: 40, check: 'database', msg: 'not ready: a check fails' });
  t.like(lines[0]?.err, { message: 'The database does not answer: connect ECONNREFUSED' });
  failure = undefined;
  for (const _ of [1, 2, 3]) t.is((await readiness()).status, 'ready');
  t.is(lines.length, 2);
  t.like(lines[1], { level: 30, check: 'database', msg: 'a check of readiness succeeds again' });
  failure = new Error('away once more');
  await readiness();
  t.like(lines[2], { check: 'database', err: { message: 'away once more' } });
});

test('a check that comes back with its plugin and fails has a line again', async (t) => {
  const lines: Record<string, unknown>[] = [];
  const failing = [{ name: 'acme', check: () => Promise.reject(new Error('down')) }];
  let probes = failing;
  const readiness = createReadiness({
    withoutSecrets: redactText,
    isServing: () => true,
    pingDatabase: async () => undefined,
    probes: () => probes,
    degraded: () => [],
    log: pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }),
  });
  await readiness();
  probes = [];
  t.is((await readiness()).status, 'ready');
  probes = failing;
  await readiness();
  t.deepEqual(
    lines.map(({ level, check }) => [level, check]),
    [
      [40, 'acme'],
      [40, 'acme'],
    ],
  );
});
