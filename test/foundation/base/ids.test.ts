import test from 'ava';
import { systemClock } from '../../../foundation/base/clock.ts';
import { createIds, isUuid } from '../../../foundation/base/ids.ts';
import { manualClock } from '../../../testing/manual-clock.ts';

test('ids are UUIDs v7, ordered by creation, also within a millisecond', (t) => {
  const ids = createIds(systemClock);
  const made = Array.from({ length: 5_000 }, () => ids.uuid());
  for (const id of made) t.regex(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  t.deepEqual(made, [...new Set(made)].sort());
});

test('ids that outrun a millisecond stay in order, and the clock catches up', (t) => {
  const clock = manualClock();
  const ids = createIds(clock);
  const made = Array.from({ length: 20_000 }, () => ids.uuid());
  clock.advance(1_000);
  made.push(ids.uuid());
  t.deepEqual(made, [...new Set(made)].sort());
  t.is(millisecondOf(made.at(-1)!), clock.now());
});

test('a clock that is set back is followed', (t) => {
  const clock = manualClock();
  createIds(clock).uuid();
  const earlier = { ...systemClock, now: () => clock.now() - 3_600_000 };
  t.is(millisecondOf(createIds(earlier).uuid()), earlier.now());
});

test('an id tells its millisecond', (t) => {
  const clock = manualClock();
  const id = createIds(clock).uuid();
  t.is(millisecondOf(id), clock.now());
});

const millisecondOf = (id: string) => Number.parseInt(id.replace('-', '').slice(0, 12), 16);

test('what is no UUID in its usual form is no id', (t) => {
  const id = '00000000-0000-0000-0000-000000000001';
  t.true(isUuid(id));
  for (const text of [
    '',
    'x',
    `${id} `,
    `a${id}`,
    '0000\u0000',
    '%',
    'ABCDEF00-0000-0000-0000-000000000001',
  ]) {
    t.false(isUuid(text), JSON.stringify(text));
  }
});
