import test from 'ava';
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
