import test from 'ava';
import { DeadlineError } from '../../../../foundation/base/deadline.ts';
import { call } from '../../../../foundation/objects/s3/s3-client.ts';

const never = () => new Promise<never>(() => {});

test.serial('a request ends at its deadline, also when the SDK does not notice', async (t) => {
  let given: AbortSignal | undefined;
  const request = (signal: AbortSignal) => {
    given = signal;
    return never();
  };
  await t.throwsAsync(call(request, { deadlineMs: 20 }), { instanceOf: DeadlineError });
  t.true(given?.aborted);
});

test.serial('the reason of the caller wins over the error that the SDK makes of it', async (t) => {
  const stop = new AbortController();
  const reason = new Error('gone');
  const request = (signal: AbortSignal) =>
    new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(new Error('AbortError'))),
    );
  const work = call(request, { signal: stop.signal });
  stop.abort(reason);
  t.is(await t.throwsAsync(work), reason);
});

test.serial('an answer and a failure pass through, and the deadline ends with them', async (t) => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  t.is(await call(async () => 5), 5);
  const refused = async () => {
    throw new Error('refused');
  };
  await t.throwsAsync(call(refused), { message: 'refused' });
  t.is(timers(), before);
});
