import test from 'ava';
import { cronPlan, everyPlan } from '../../../foundation/schedules/plan.ts';

/** The first `count` times of a pattern after a moment. */
function timesAfter(moment: string, pattern: string, count: number, timezone = 'UTC'): string[] {
  const plan = cronPlan(pattern, { timezone });
  const found: string[] = [];
  for (let at = Date.parse(moment); found.length < count; ) {
    at = plan.after(at);
    found.push(new Date(at).toISOString().slice(0, 16));
  }
  return found;
}

test('a cron pattern means UTC, and local times where a time zone is named', (t) => {
  t.deepEqual(timesAfter('2030-01-01T03:00:00Z', '0 3 * * *', 1), ['2030-01-02T03:00']);
  t.deepEqual(timesAfter('2030-07-01T00:00:00Z', '0 3 * * *', 1, 'Europe/Berlin'), ['2030-07-01T01:00']);
});

test('a time that the clocks leave out is the moment after it', (t) => {
  const times = timesAfter('2030-03-30T00:00:00Z', '30 2 * * *', 3, 'Europe/Berlin');
  t.deepEqual(times, ['2030-03-30T01:30', '2030-03-31T01:00', '2030-04-01T00:30']);
});

test('a fixed time that comes twice counts once', (t) => {
  const times = timesAfter('2030-10-26T00:00:00Z', '30 2 * * *', 3, 'Europe/Berlin');
  t.deepEqual(times, ['2030-10-26T00:30', '2030-10-27T00:30', '2030-10-28T01:30']);
});

test('several fixed times a day are left out, and come twice, like one', (t) => {
  const ofSpring = timesAfter('2030-03-30T12:00:00Z', '30 2,14 * * *', 3, 'Europe/Berlin');
  t.deepEqual(ofSpring, ['2030-03-30T13:30', '2030-03-31T01:00', '2030-03-31T12:30']);
  const ofAutumn = timesAfter('2030-10-26T23:00:00Z', '30 1-3 * * *', 4, 'Europe/Berlin');
  t.deepEqual(ofAutumn, ['2030-10-26T23:30', '2030-10-27T00:30', '2030-10-27T02:30', '2030-10-28T00:30']);
});

test('an interval goes on at its pace while the clocks change', (t) => {
  const ofSpring = timesAfter('2030-03-31T00:10:00Z', '*/30 * * * *', 3, 'Europe/Berlin');
  t.deepEqual(ofSpring, ['2030-03-31T00:30', '2030-03-31T01:00', '2030-03-31T01:30']);
  const ofAutumn = timesAfter('2030-10-26T23:40:00Z', '0 * * * *', 3, 'Europe/Berlin');
  t.deepEqual(ofAutumn, ['2030-10-27T00:00', '2030-10-27T01:00', '2030-10-27T02:00']);
});

test('the 31st is left out of shorter months, and L is the last day of each', (t) => {
  const of31 = timesAfter('2030-01-31T03:00:00Z', '0 3 31 * *', 2);
  t.deepEqual(of31, ['2030-03-31T03:00', '2030-05-31T03:00']);
  const ofLast = timesAfter('2032-01-31T03:00:00Z', '0 3 L * *', 2);
  t.deepEqual(ofLast, ['2032-02-29T03:00', '2032-03-31T03:00']);
});

test('what is no pattern, no time zone, or has no time is refused with the reason', (t) => {
  for (const pattern of [
    '0 0 30 2 *',
    '* * *',
    '0 3 * * * *',
    '0 25 * * *',
    '@reboot',
    '2999-12-31T00:00:00',
    '',
  ]) {
    t.throws(() => cronPlan(pattern), { instanceOf: TypeError, message: new RegExp(RegExp.escape(pattern)) });
  }
  t.throws(() => cronPlan('every day'), {
    message: /it has 2; they are minute, hour, day, month, day of the week: 0 3 \* \* \*$/,
  });
  for (const zone of ['Mars/Olympus', '']) {
    const message = `"${zone}" is no time zone of the IANA database`;
    t.throws(() => cronPlan('0 3 * * *', { timezone: zone }), { instanceOf: TypeError, message });
  }
  for (const milliseconds of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
    t.throws(() => everyPlan(milliseconds), { instanceOf: TypeError });
  }
});

test('what came due during a run is left out, and the pace is kept', (t) => {
  const { next } = everyPlan(100);
  t.is(next(1_000, 1_000), 1_100);
  t.is(next(1_000, 1_099), 1_100);
  t.is(next(1_000, 1_100), 1_200);
  t.is(next(1_000, 1_950), 2_000);
  const hour = 3_600_000;
  t.is(cronPlan('0 * * * *').next(hour, 3.5 * hour), 4 * hour);
});
