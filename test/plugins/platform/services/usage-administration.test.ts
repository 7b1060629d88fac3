import test from 'ava';
import { usagePeriod } from '../../../../plugins/platform/services/usage-administration.ts';

const NOW = Date.UTC(2026, 2, 31, 15, 30);
const at = (text: string | undefined) => (text === undefined ? undefined : new Date(text));

test('what is not said of a period is made of the rest', (t) => {
  const cases: readonly [string | undefined, string | undefined, string, string][] = [
    [undefined, undefined, '2026-03-01T00:00:00.000Z', '2026-03-31T15:30:00.000Z'],
    ['2026-03-20T08:00:00Z', undefined, '2026-03-20T08:00:00.000Z', '2026-03-31T15:30:00.000Z'],
    ['2026-04-01', undefined, '2026-04-01T00:00:00.000Z', '2026-04-01T00:00:00.000Z'],
    [undefined, '2026-02-15T23:59:59.999Z', '2026-01-16T00:00:00.000Z', '2026-02-15T23:59:59.999Z'],
    ['2026-01-01', '2026-01-01', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'],
  ];
  for (const [from, to, start, end] of cases) {
    const period = usagePeriod({ from: at(from), to: at(to) }, NOW);
    t.deepEqual([period.from.toISOString(), period.to.toISOString()], [start, end]);
  }
});

test('a period that ends before it begins is refused', (t) => {
  const period = { from: new Date(NOW), to: new Date(NOW - 1) };
  const error = t.throws(() => usagePeriod(period, NOW), { code: 'request.invalid' });
  t.like(error, { extras: { errors: [{ pointer: '/query/from' }] } });
});
