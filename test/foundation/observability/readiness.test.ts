import test from 'ava';
import { checkReadiness } from '../../../foundation/observability/readiness.ts';

test('a check that fails with anything at all is not ready, with a reason', async (t) => {
  for (const [failure, reason] of [
    [new Error('down'), 'down'],
    [Object.assign(new Error(''), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    ['down', 'down'],
    [undefined, 'unknown'],
    [null, 'unknown'],
    [{ message: 7 }, 'unknown'],
  ]) {
    const { status, checks } = await checkReadiness({
      isServing: () => true,
      pingDatabase: async () => undefined,
      probes: () => [{ name: 'acme', check: () => Promise.reject(failure) }],
      degraded: () => [],
    });
    t.is(status, 'not_ready');
    t.deepEqual(checks, [{ name: 'acme', state: 'error', reason }] as never);
  }
});
