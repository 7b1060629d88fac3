import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { openLeases } from '../../../foundation/leases/open-leases.ts';
import { available } from '../../support/services.ts';
import { until } from '../../support/until.ts';
import { clock, connect, ids, newMetrics, onEnd, openTestDatabase, openTestRedis, silent } from './forms.ts';

const HOLDER = fileURLToPath(new URL('holder-process.ts', import.meta.url));

for (const [title, family, hasRedis] of [
  ['postgres', 'postgres', false],
  ['mysql', 'mysql', false],
  ['redis', 'postgres', true],
] as const) {
  test(`${title}: the leases of a process that was killed are free within 30 s, and not while it lives`, async (t) => {
    t.timeout(90_000);
    if (hasRedis && !(await available(t, 'redis'))) return;
    const opened = await openTestDatabase(t, family);
    if (opened === undefined) return;
    const { database, fresh } = opened;
    const prefix = hasRedis ? openTestRedis(t).prefix : 'unused';
    const redisUrl = hasRedis ? 'redis://127.0.0.1:6379' : undefined;
    const redis = hasRedis ? await connect(t) : undefined;
    const common = { redis, prefix, database, clock, ids, log: silent };
    const leases = await openLeases({ ...common, metrics: newMetrics() });
    onEnd(t, () => leases.close());
    const holder = spawn(process.execPath, [HOLDER, family, fresh.options.url!, redisUrl ?? '', prefix], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.teardown(() => holder.kill('SIGKILL'));
    const [said] = await once(holder.stdout, 'data');
    t.is(`${said}`, 'held\n');
    const take = (name: string) => leases.tryAcquire('k', { name, limit: 2 });
    t.is(await take('c'), 'full');
    t.is(await take('a'), 'held');
    holder.kill('SIGKILL');
    const killed = performance.now();
    await until(async () => typeof (await take('c')) !== 'string', 30_000);
    t.true(performance.now() - killed > 10_000, 'its time was respected');
    await until(async () => typeof (await take('a')) !== 'string', 5_000);
    t.is(await take('d'), 'full');
  });
}
