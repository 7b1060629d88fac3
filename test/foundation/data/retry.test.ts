import test from 'ava';
import { lostRace, withRetries } from '../../../foundation/data/retry.ts';

const deadlock = () =>
  new Error('wrapped', { cause: Object.assign(new Error('deadlock'), { code: '40P01' }) });

test('lost races are recognised on every family, also inside other errors', (t) => {
  for (const code of ['40001', '40P01', 'SQLITE_BUSY', 'SQLITE_BUSY_SNAPSHOT'])
    t.true(lostRace(Object.assign(new Error(), { code })));
  t.true(lostRace(Object.assign(new Error(), { errno: 1213 })));
  t.false(lostRace(Object.assign(new Error(), { errno: 1205 })), 'it has waited as long as it may');
  t.false(lostRace(Object.assign(new Error(), { code: '55P03' })));
  t.true(lostRace(deadlock()));
  t.false(lostRace(new Error('other')));
  t.false(lostRace('text'));
});

test('a lost race is run again as often as allowed', async (t) => {
  let runs = 0;
  const attempt = async () => {
    runs += 1;
    if (runs < 3) throw deadlock();
    return 'won';
  };
  t.is(await withRetries(2, attempt, () => 0), 'won');
  runs = 0;
  await t.throwsAsync(
    withRetries(1, attempt, () => 0),
    { message: 'wrapped' },
  );
  t.is(runs, 2);
});

test('another error is thrown at once', async (t) => {
  let runs = 0;
  const attempt = async () => {
    runs += 1;
    throw new Error('other');
  };
  await t.throwsAsync(withRetries(5, attempt), { message: 'other' });
  t.is(runs, 1);
});
