import test from 'ava';
import { KernelErrors } from '../../../foundation/base/error-catalogue.ts';
import { createFailureLog } from '../../../foundation/errors/failure-log.ts';

function open() {
  let time = 0;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  const lines: any[] = [];
  const log = { error: (fields: object, msg: string) => void lines.push({ ...fields, msg }) };
  const logFailure = createFailureLog(log as never, { monotonic: () => time });
  const call = (requestId: string, owner = 'notes') => ({
    owner,
    pattern: '/notes',
    requestId,
    isAborted: false,
  });
  const pass = (milliseconds: number) => {
    time += milliseconds;
  };
  return { logFailure, call, lines, pass };
}

const cause = new Error('connect ECONNREFUSED 10.0.0.1:5432');

test('what is away is one line a minute for each plugin and code, with how many calls it failed', (t) => {
  const { logFailure, call, lines, pass } = open();
  for (let n = 0; n < 100; n += 1)
    logFailure(call(`r${n}`), KernelErrors.unavailable('It is away', { cause }));
  logFailure(call('other', 'pages'), KernelErrors.unavailable('It is away', { cause }));
  logFailure(call('stop'), KernelErrors.draining());
  const common = { err: cause, code: 'gateway.unavailable', route: '/notes', msg: 'It is away' };
  t.like(lines[0], { ...common, plugin: 'notes', requestId: 'r0', count: 1 });
  t.like(lines[1], { ...common, plugin: 'pages', requestId: 'other', count: 1 });
  t.like(lines[2], { code: 'gateway.draining', requestId: 'stop' });
  t.is(lines.length, 3);
  pass(60_000);
  logFailure(call('later'), KernelErrors.unavailable('It is away', { cause }));
  t.like(lines[3], { requestId: 'later', count: 100 });
});

test('every failure inside the gateway has its line, and no mistake of a caller has one', (t) => {
  const { logFailure, call, lines } = open();
  for (const id of ['a', 'b']) logFailure(call(id), KernelErrors.internal(undefined, { cause }));
  logFailure({ ...call('gone'), isAborted: true }, KernelErrors.internal());
  logFailure(call('c'), KernelErrors.pathNotFound());
  logFailure(call('d'), KernelErrors.overloaded());
  logFailure(call('e'), KernelErrors.starting());
  t.deepEqual(
    lines.map(({ requestId, err }) => [requestId, err]),
    [
      ['a', cause],
      ['b', cause],
    ],
  );
});
