import { spawn } from 'node:child_process';
import { once } from 'node:events';
import test from 'ava';
import { eachDatabase } from '../../../support/databases.ts';
import { eventually, Invoice, TENANT } from '../jobs/jobs-kit.ts';
import { left, openEventReplica } from './kit.ts';

eachDatabase(
  test,
  'what was published by a process that is killed is delivered to each subscriber, and what it rolled back to none',
  async (t, fresh) => {
    const replica = await openEventReplica(t, fresh);
    const said = { committed: new Set<number>(), undone: new Set<number>(), handled: new Set<number>() };
    const { url, file } = fresh.options;
    const child = spawn(
      process.execPath,
      [`${import.meta.dirname}/publishing-process.ts`, fresh.family, (url ?? file) as string, TENANT],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    t.teardown(() => child.kill('SIGKILL'));
    let rest = '';
    child.stdout.on('data', (data) => {
      const lines = (rest + data).split('\n');
      rest = lines.pop() as string;
      for (const line of lines) {
        const [what, n] = line.split(' ');
        said[what as keyof typeof said].add(Number(n));
      }
    });
    await eventually(() => said.committed.size >= 30 && said.handled.size > 5);
    child.kill('SIGKILL');
    await once(child, 'exit');
    const rows = await replica.database.forTenant(TENANT).rows(Invoice, {}, { limit: 100_000 });
    const stored = rows.map(({ n }) => n);
    t.true((await left(replica)).length > 0, 'some were not delivered');
    const got = { billing: new Set<number>(), mail: new Set<number>() };
    replica.subscribe('billing', async ({ n }) => void got.billing.add(n), { concurrency: 20 });
    replica.subscribe('mail', async ({ n }) => void got.mail.add(n), { concurrency: 20 });
    await eventually(async () => (await left(replica)).length === 0);
    for (const n of said.committed) t.true(stored.includes(n));
    for (const n of stored) {
      t.true(got.mail.has(n), `${n}: its subscriber ran nowhere before`);
      t.true(got.billing.has(n) || said.handled.has(n), `${n} was delivered to both`);
    }
    for (const n of [...got.mail, ...got.billing]) t.true(stored.includes(n), `${n} was committed`);
    t.true(said.undone.size > 5);
  },
);
