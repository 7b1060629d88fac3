import test from 'ava';
import { systemClock } from '../../../foundation/base/clock.ts';
import { createIds } from '../../../foundation/base/ids.ts';
import { manualClock } from '../../../testing/manual-clock.ts';

test('ids are UUIDs v7, ordered by creation, also within a millisecond', (t) => {
  const ids = createIds(systemClock);
  const made = Array.from({ length: 5_000 }, () => ids.uuid());
  for (const id of made) t.regex(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  t.deepEqual(made, [...new Set(made)].sort());
});

test('an id tells its millisecond', (t) => {
  const clock = manualClock();
  const id = createIds(clock).uuid();
  t.is(Number.parseInt(id.replace('-', '').slice(0, 12), 16), clock.now());
});
