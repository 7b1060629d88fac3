import { randomBytes } from 'node:crypto';
import test from 'ava';
import { createPermits } from '../../../../foundation/leases/permits/create-permits.ts';
import { createMemoryStore } from '../../../../foundation/leases/permits/memory-store.ts';
import { eventRevocations } from '../../../../foundation/leases/permits/revocations.ts';
import { openEvents } from '../../../../foundation/messages/events/open-events.ts';
import { unreadMetrics } from '../../../support/metrics.ts';
import { available } from '../../../support/services.ts';
import { until } from '../../../support/until.ts';
import { clock, ids, onEnd, silent } from '../locks/forms.ts';
import { granted } from './forms.ts';

test('a revocation travels to another process by the events of the kernel', async (t) => {
  if (!(await available(t, 'redis'))) return;
  const channel = `test-${randomBytes(8).toString('hex')}`;
  const store = createMemoryStore();
  const open = () => {
    const events = openEvents({
      redisUrl: 'redis://127.0.0.1:6379',
      channel,
      clock,
      ids,
      log: silent,
      metrics: unreadMetrics(),
    });
    onEnd(t, () => events.close());
    const permits = createPermits({ store, clock, ids, log: silent, revocations: eventRevocations(events) });
    onEnd(t, () => permits.close());
    return permits;
  };
  const [one, two] = [open(), open()];
  const permit = granted(await one.tryAcquire('k', { name: 'a', limit: 2 }));
  const other = granted(await one.tryAcquire('k', { name: 'b', limit: 2 }));
  // An event that is sent before both are connected is lost; there is no renewal in memory that would make up for it.
  await until(async () => (await two.revoke('k', 'a')) && permit.signal.aborted, 20_000);
  t.is((permit.signal.reason as { code: string }).code, 'permit.revoked');
  t.false(other.signal.aborted);
});
