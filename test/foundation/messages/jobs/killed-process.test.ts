import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { eachDatabase } from '../../../support/databases.ts';
import { charge, eventually, Invoice, openReplica, TENANT } from './jobs-kit.ts';

eachDatabase(
  test,
  'what was committed by processes that are killed under load is done, and nothing else',
  async (t, fresh) => {
    const said = { committed: new Set<number>(), undone: new Set<number>(), done: new Set<number>() };
    const { url, file } = fresh.options;
    const { jobs, database } = await openReplica(t, fresh, { times: { lease: 1_000, sweep: 100 } });
    for (let round = 0; round < 2; round += 1) {
      const child = spawn(
        process.execPath,
        [`${import.meta.dirname}/publishing-process.ts`, fresh.family, (url ?? file) as string, TENANT],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      t.teardown(() => child.kill('SIGKILL'));
      let rest = '';
      const before = said.committed.size;
      child.stdout.on('data', (data) => {
        const lines = (rest + data).split('\n');
        rest = lines.pop() as string;
        for (const line of lines) {
          const [what, n] = line.split(' ');
          // Rounds have numbers of their own.
          said[what as keyof typeof said].add(Number(n) + round * 1_000_000);
        }
      });
      await eventually(() => said.committed.size >= before + 30 && said.done.size > round * 5);
      await pause(Math.random() * 50);
      child.kill('SIGKILL');
      await once(child, 'exit');
      if (round === 0) await database.forTenant(TENANT).update(Invoice, {}, { n: -1 });
    }
    const rows = await database.forTenant(TENANT).rows(Invoice, {}, { limit: 100_000 });
    const { total } = await jobs.administration.list({}, { limit: 1, offset: 0 });
    t.true(total > 0, 'some were left');
    const here: number[] = [];
    jobs.work(charge(), async ({ n }) => void here.push(n), { concurrency: 20 });
    await eventually(async () => (await jobs.administration.list({}, { limit: 1, offset: 0 })).total === 0);
    const done = new Set([...here, ...[...said.done].map((n) => n % 1_000_000)]);
    for (const n of said.committed) t.true(done.has(n % 1_000_000), `committed ${n} is done`);
    for (const { n } of rows) t.true(n === -1 || done.has(n), `${n} has its data, and was done`);
    for (const n of done) t.not(n % 3, 0, `${n} was rolled back`);
    t.true(said.undone.size > 5);
  },
);
