import test from 'ava';
import { parseAuditTime } from '../../../foundation/audit/audit-query.ts';

test('a moment is RFC 3339 or a date, and a date includes its whole day', (t) => {
  t.is(parseAuditTime('2026-01-02T03:04:05Z', 'from')?.toJSON(), '2026-01-02T03:04:05.000Z');
  t.is(parseAuditTime('2026-01-02T03:04:05.5+02:00', 'to')?.toJSON(), '2026-01-02T01:04:05.500Z');
  t.is(parseAuditTime('2026-01-02', 'from')?.toJSON(), '2026-01-02T00:00:00.000Z');
  t.is(parseAuditTime('2026-01-02', 'to')?.toJSON(), '2026-01-02T23:59:59.999Z');
  // Years that no database can write are the nearest that all can.
  t.is(parseAuditTime('0000-01-01', 'from')?.toJSON(), '1970-01-01T00:00:00.000Z');
  t.is(parseAuditTime('9999-12-31T23:59:59-01:00', 'to')?.toJSON(), '9999-12-31T23:59:59.999Z');
});

for (const text of [
  '',
  'yesterday',
  '2026',
  '2026-13-01',
  '2026-02-30',
  '2026-01-02T03:04:05',
  '2026-01-02T25:00:00Z',
  '1767225600',
  '2026-02-30T00:00:00Z',
]) {
  test(`"${text}" is no moment`, (t) => {
    t.is(parseAuditTime(text, 'from'), undefined);
  });
}
