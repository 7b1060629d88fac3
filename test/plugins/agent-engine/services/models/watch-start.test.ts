import test from 'ava';
import { watchStart } from '../../../../../plugins/agent-engine/services/models/watch-start.ts';

async function* numbers(count: number, told: string[], failAt = -1) {
  try {
    for (let number = 0; number < count; number += 1) {
      if (number === failAt) throw new Error(`at ${number}`);
      yield number;
    }
  } finally {
    told.push('ended');
  }
}

function watched(told: string[]) {
  return {
    before: () => void told.push('before'),
    begun: () => void told.push('begun'),
    failed: (error?: unknown) => void told.push(`failed ${(error as Error | undefined)?.message}`),
  };
}

test('the beginning is told once, before the first element is handed out', async (t) => {
  const told: string[] = [];
  for await (const number of watchStart(numbers(3, told), watched(told))) told.push(String(number));
  t.deepEqual(told, ['before', 'begun', '0', '1', '2', 'ended']);
});

test('a failure is told when it is the beginning, and not when it comes later', async (t) => {
  for (const [failAt, expected] of [
    [0, ['before', 'ended', 'failed at 0']],
    [1, ['before', 'begun', 'ended']],
  ] as const) {
    const told: string[] = [];
    await t.throwsAsync(
      (async () => {
        for await (const _ of watchStart(numbers(3, told, failAt), watched(told)));
      })(),
      { message: `at ${failAt}` },
    );
    t.deepEqual(told, expected as never);
  }
});

test('a stream that is left ends, and one that nobody reads is not told of', async (t) => {
  const told: string[] = [];
  for await (const _ of watchStart(numbers(3, told), watched(told))) break;
  t.deepEqual(told, ['before', 'begun', 'ended']);
  const silent: string[] = [];
  await watchStart(numbers(3, silent), watched(silent))[Symbol.asyncIterator]().return?.();
  t.deepEqual(silent, []);
});
