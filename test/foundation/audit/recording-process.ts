import { appendFileSync } from 'node:fs';
import { createAuditTrail } from '../../../foundation/audit/audit-trail.ts';
import { systemClock } from '../../../foundation/base/clock.ts';
import { createIds } from '../../../foundation/base/ids.ts';
import { entry, fakeLog } from './trail-kit.ts';

/**
 * A process that records as fast as it can and says so: each id goes to standard output, synchronously, once the
 * promise of `record` has resolved. It runs until it is killed. With a second argument its sink works and writes ids to
 * that file.
 */
const [directory, storedFile] = process.argv.slice(2) as [string, string | undefined];
const trail = createAuditTrail({
  directory,
  clock: systemClock,
  ids: createIds(systemClock),
  log: fakeLog(),
  sink: {
    async write(entries) {
      if (storedFile === undefined) throw new Error('away');
      appendFileSync(storedFile, entries.map(({ id }) => `${id}\n`).join(''));
    },
  },
  limits: { segmentBytes: 50_000 },
});

for (;;) {
  const some = Array.from({ length: 20 }, () => entry({ createdAt: new Date() }));
  await Promise.all(some.map((one) => trail.record(one)));
  for (const { id } of some) appendFileSync(1, `${id}\n`);
}
