import test from 'ava';
import fc from 'fast-check';
import {
  dayOf,
  daysFrom,
  momentsOf,
  splitWindow,
  toWindow,
} from '../../../../../plugins/records/services/metering/usage-period.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const period = (from: string, to: string) => toWindow({ from: new Date(from), to: new Date(to) });

test('whole days that are added up are told from the rest', (t) => {
  const cases: readonly [from: string, to: string, through: string, ...parts: string[]][] = [
    [
      '2026-02-27T00:00:00Z',
      '2026-03-02T10:00:00Z',
      '2026-02-28',
      '2026-02-27..2026-02-28',
      '2026-03-01T00:00:00.000Z..2026-03-02T10:00:00.000Z',
    ],
    [
      '2028-02-27T00:00:00Z',
      '2028-03-02T10:00:00Z',
      '2028-02-29',
      '2028-02-27..2028-02-29',
      '2028-03-01T00:00:00.000Z..2028-03-02T10:00:00.000Z',
    ],
    [
      '2026-01-31T12:00:00Z',
      '2026-03-31T23:59:59.999Z',
      '2026-12-31',
      '2026-02-01..2026-03-31',
      '2026-01-31T12:00:00.000Z..2026-01-31T23:59:59.999Z',
    ],
    [
      '2026-01-31T00:00:00.001Z',
      '2026-03-31T23:59:59.998Z',
      '2026-12-31',
      '2026-02-01..2026-03-30',
      '2026-01-31T00:00:00.001Z..2026-01-31T23:59:59.999Z',
      '2026-03-31T00:00:00.000Z..2026-03-31T23:59:59.998Z',
    ],
    ['2026-03-31T00:00:00Z', '2026-03-31T23:59:59.999Z', '2026-03-31', '2026-03-31..2026-03-31'],
    [
      '2026-03-31T00:00:00Z',
      '2026-03-31T23:59:59.999Z',
      '2026-03-30',
      '-',
      '2026-03-31T00:00:00.000Z..2026-03-31T23:59:59.999Z',
    ],
    [
      '2026-03-31T10:00:00Z',
      '2026-04-01T10:00:00Z',
      '2026-12-31',
      '-',
      '2026-03-31T10:00:00.000Z..2026-04-01T10:00:00.000Z',
    ],
    [
      '2026-03-31T10:00:00Z',
      '2026-03-31T10:00:00Z',
      '2026-12-31',
      '-',
      '2026-03-31T10:00:00.000Z..2026-03-31T10:00:00.000Z',
    ],
    [
      '2026-01-01T00:00:00Z',
      '2026-12-31T23:59:59.999Z',
      '',
      '-',
      '2026-01-01T00:00:00.000Z..2026-12-31T23:59:59.999Z',
    ],
    [
      '-009999-01-01T00:00:00Z',
      '+012026-01-01T00:00:00Z',
      '2026-03-31',
      '1970-01-01..2026-03-31',
      '2026-04-01T00:00:00.000Z..9999-12-31T23:59:59.999Z',
    ],
    [
      '9999-12-31T23:59:59Z',
      '9999-12-31T23:59:59.999Z',
      '2026-03-31',
      '-',
      '9999-12-31T23:59:59.000Z..9999-12-31T23:59:59.999Z',
    ],
  ];
  for (const [from, to, through, added, ...open] of cases) {
    const parts = splitWindow(period(from, to), through);
    const days = parts.added === undefined ? '-' : `${parts.added.firstDay}..${parts.added.lastDay}`;
    const rest = parts.open.map((window) => `${window.from.toISOString()}..${window.to.toISOString()}`);
    t.deepEqual([days, ...rest], [added, ...open], `${from} to ${to}, through ${through}`);
  }
});

test('the parts of a window hold each of its moments once', (t) => {
  const moment = fc.integer({ min: 0, max: 8 * DAY_MS });
  const base = Date.UTC(2028, 1, 26);
  const through = fc.integer({ min: -2, max: 10 }).map((days) => daysFrom(dayOf(new Date(base)), days));
  const edge = fc.oneof(
    moment,
    fc.integer({ min: 0, max: 8 }).map((days) => days * DAY_MS),
    fc.integer({ min: 1, max: 8 }).map((days) => days * DAY_MS - 1),
  );
  fc.assert(
    fc.property(edge, edge, fc.oneof(through, fc.constant('')), (a, b, until) => {
      const window = toWindow({ from: new Date(base + Math.min(a, b)), to: new Date(base + Math.max(a, b)) });
      const { added, open } = splitWindow(window, until);
      const pieces = [...(added === undefined ? [] : [momentsOf(added)]), ...open].sort(
        (one, two) => one.from.getTime() - two.from.getTime(),
      );
      let next = window.from.getTime();
      for (const piece of pieces) {
        t.is(piece.from.getTime(), next);
        t.true(piece.from <= piece.to);
        next = piece.to.getTime() + 1;
      }
      t.is(next, window.to.getTime() + 1);
      if (added !== undefined) t.true(added.lastDay <= until);
      for (const { firstDay, lastDay, from, to } of open)
        t.deepEqual([firstDay, lastDay], [dayOf(from), dayOf(to)]);
    }),
  );
});
