import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import Type from 'typebox';
import { systemClock } from '../../../../foundation/base/clock.ts';
import { writes } from '../../../../foundation/data/database.ts';
import { JobRow } from '../../../../foundation/messages/jobs/job-table.ts';
import { defineJob } from '../../../../foundation/messages/jobs/jobs.ts';
import { eachDatabase } from '../../../support/databases.ts';
import { recordStatements } from '../../../support/statements.ts';
import { settled } from '../../../support/until.ts';
import { charge, eventually, Invoice, openReplica, type Replica, TENANT } from './jobs-kit.ts';

const each = (title: string, run: Parameters<typeof eachDatabase>[2]) => eachDatabase(test, title, run);
const countOf = (counts: readonly string[], metric: string) =>
  counts.filter((count) => count === `${metric} billing.charge`).length;

test('a job is named by lower-case letters, digits, points and hyphens, and its settings have bounds', (t) => {
  const schema = Type.Object({ n: Type.Integer() });
  const { id, settings } = defineJob('billing.charge', schema);
  t.is(id, 'billing.charge');
  t.deepEqual(settings, { attempts: 10, backoff: { first: 1_000, most: 3_600_000 }, timeout: 60_000 });
  for (const bad of ['', 'Billing', 'a:b', 'a_b', '.a', 'a b', 'x'.repeat(101)]) {
    t.throws(() => defineJob(bad, schema), { instanceOf: TypeError });
  }
  for (const attempts of [0, 1.5, 101])
    t.throws(() => defineJob('a', schema, { attempts }), { message: /attempts/ });
  t.throws(() => defineJob('a', schema, { timeout: 0 }), { message: /timeout/ });
});

each('a job is done once, for the tenant that published it, and nothing of it is left', async (t, fresh) => {
  const { jobs, database, counts } = await openReplica(t, fresh);
  const got: unknown[] = [];
  jobs.work(charge(), async (payload, context) => {
    const { id, tenantId, attempt, isLast } = context;
    got.push({ ...payload, id, tenantId, own: context.entities().tenantId, attempt, isLast });
  });
  const id = await jobs.publish(database.forTenant(TENANT), charge(), { n: 1 });
  await eventually(() => countOf(counts, 'svc_jobs_completed_total') === 1);
  t.deepEqual(got, [{ n: 1, id, tenantId: TENANT, own: TENANT, attempt: 1, isLast: false }]);
  t.is(countOf(counts, 'svc_jobs_published_total'), 1);
  t.deepEqual(await jobs.administration.list({}, { limit: 10, offset: 0 }), { jobs: [], total: 0 });
  t.is((await database.schemaDrift()).trim(), '');
});

each('a job of the deployment has no tenant', async (t, fresh) => {
  const { jobs, database } = await openReplica(t, fresh);
  const got: unknown[] = [];
  jobs.work(charge(), async ({ n }, context) => {
    t.throws(() => context.entities(), { message: /deployment/ });
    got.push([n, context.tenantId]);
  });
  await jobs.publish(database.system(), charge(), { n: 1 });
  await database.transaction((em) => jobs.publish(em, charge(), { n: 2 }, { key: 'nightly' }));
  await t.throwsAsync(
    database.transaction(async (em) => {
      await jobs.publish(em, charge(), { n: 3 });
      throw new Error('undone');
    }),
  );
  await eventually(() => got.length === 2);
  await settled(() => got.length);
  t.deepEqual(got.sort(), [
    [1, undefined],
    [2, undefined],
  ]);
});

each('a job is published with the data of its transaction or not at all', async (t, fresh) => {
  const { jobs, database, counts } = await openReplica(t, fresh);
  const entities = database.forTenant(TENANT);
  const got: number[] = [];
  jobs.work(charge(), async ({ n }, context) => {
    t.is(await context.entities().count(Invoice, { n }), 1, 'its data is there');
    got.push(n);
  });
  await t.throwsAsync(
    entities.transaction(async (inside) => {
      await inside.insert(Invoice, { id: randomUUID(), n: 1 });
      await jobs.publish(inside, charge(), { n: 1 });
      throw new Error('undone');
    }),
    { message: 'undone' },
  );
  await entities.transaction(async (inside) => {
    await jobs.publish(inside, charge(), { n: 2 });
    await inside.insert(Invoice, { id: randomUUID(), n: 2 });
  });
  const stored = (n: number, expect: number) => [
    writes.insert(Invoice, [{ id: randomUUID(), n }]),
    jobs.write(charge(), { n }),
    writes.update(Invoice, { n: 2 }, { n: 2 }, { expect }),
  ];
  t.true(await entities.writeTogether(stored(3, 1)));
  t.false(await entities.writeTogether(stored(4, 7)));
  const began = performance.now();
  await eventually(() => got.length === 2);
  t.true(performance.now() - began < 5_000);
  await settled(() => got.length);
  t.deepEqual(got.sort(), [2, 3]);
  t.is(countOf(counts, 'svc_jobs_published_total'), 2);
});

each('a job that fails is tried again, then it is dead, until the operator retries it', async (t, fresh) => {
  const { jobs, database, counts, lines } = await openReplica(t, fresh);
  const Poison = charge({ attempts: 3 });
  const attempts: [number, boolean][] = [];
  let isFixed = false;
  jobs.work(Poison, async (_, { attempt, isLast }) => {
    attempts.push([attempt, isLast]);
    if (!isFixed) throw new Error('no luck with password=hunter22');
  });
  const id = await jobs.publish(database.forTenant(TENANT), Poison, { n: 1 }, { key: 'k' });
  await eventually(() => countOf(counts, 'svc_jobs_dead_total') === 1);
  t.deepEqual(attempts, [
    [1, false],
    [2, false],
    [3, true],
  ]);
  t.is(countOf(counts, 'svc_jobs_failed_total'), 3);
  const { jobs: listed, total } = await jobs.administration.list(
    { queue: 'billing.charge', state: 'dead', tenantId: TENANT },
    { limit: 10, offset: 0 },
  );
  t.is(total, 1);
  t.like(listed[0], { id, state: 'dead', attempt: 3, payload: '{"n":1}' });
  t.regex(listed[0]?.error ?? '', /no luck/);
  t.notRegex(listed[0]?.error ?? '', /hunter22/);
  t.is(lines.filter(({ level }) => level === 50).length, 1);
  t.deepEqual((await jobs.administration.list({ state: 'waiting' }, { limit: 10, offset: 0 })).jobs, []);
  isFixed = true;
  t.like(await jobs.administration.retry(id), { id, attempt: 0 });
  await eventually(() => countOf(counts, 'svc_jobs_completed_total') === 1);
  await t.throwsAsync(jobs.administration.retry(id), { message: /no such job/ });
});

each(
  'a job whose last attempt is lost with its process is dead: counted and logged once, by one replica',
  async (t, fresh) => {
    const replicas = [
      await openReplica(t, fresh, { times: { sweep: 50 } }),
      await openReplica(t, fresh, { times: { sweep: 50 } }),
    ];
    const [{ jobs, database }] = replicas as [Replica, Replica];
    const id = await jobs.publish(database.forTenant(TENANT), charge(), { n: 1 }, { delay: 60_000 });
    const lost = { state: 'running', attempt: 25, maxAttempts: 25, dueAt: 1, ticket: 'of-a-killed-process' };
    await database.system().nativeUpdate(JobRow, { id }, lost);
    for (const replica of replicas)
      replica.jobs.work(defineJob('billing.other', Type.Object({})), async () => {});
    await eventually(async () => (await jobs.administration.find(id))?.state === 'dead');
    const told = () => replicas.flatMap(({ lines }) => lines.filter(({ level }) => level === 50));
    await eventually(() => told().length > 0);
    await settled(() => told().length);
    t.is(told().length, 1);
    t.like(told()[0], { queue: 'billing.charge', job_id: id, attempt: 25, tenant_id: TENANT });
    t.regex(told()[0].msg, /a job is dead: its process died, or lost its lease/);
    const deaths = replicas
      .flatMap(({ counts }) => counts)
      .filter((count) => count === 'svc_jobs_dead_total billing.charge');
    t.is(deaths.length, 1);
  },
);

each('whatever a handler throws, its job is tried again and dies of that', async (t, fresh) => {
  const { jobs, database } = await openReplica(t, fresh, { times: { lease: 20_000 } });
  const thrown: unknown[] = [new Error('a zero \0 byte'), `${'x'.repeat(899)}🧮`, Object.create(null)];
  jobs.work(charge({ attempts: 1 }), async ({ n }) => {
    throw thrown[n];
  });
  const entities = database.forTenant(TENANT);
  const ids: string[] = [];
  for (const n of thrown.keys()) ids.push(await jobs.publish(entities, charge({ attempts: 1 }), { n }));
  const errors = async () => Promise.all(ids.map(async (id) => (await jobs.administration.find(id))?.error));
  await eventually(async () => (await errors()).every((error) => error));
  t.deepEqual(await errors(), [
    'a zero \ufffd byte',
    `${'x'.repeat(899)}\ufffd…`,
    'something that has no text was thrown',
  ]);
});

each('only a dead job is deleted or retried, and old dead jobs are forgotten', async (t, fresh) => {
  const { jobs, database, counts } = await openReplica(t, fresh, { times: { keepDead: 1_500, sweep: 100 } });
  const entities = database.forTenant(TENANT);
  const waiting = await jobs.publish(entities, charge(), { n: 1 }, { delay: 60_000 });
  await t.throwsAsync(jobs.administration.delete(waiting), { message: /not dead/ });
  await t.throwsAsync(jobs.administration.retry(waiting), { message: /not dead/ });
  await t.throwsAsync(jobs.administration.delete(randomUUID()), { message: /no such job/ });
  const Poison = defineJob('billing.poison', Type.Object({}), { attempts: 1 });
  jobs.work(Poison, async () => {
    throw new Error('no luck');
  });
  const first = await jobs.publish(entities, Poison, {});
  const deaths = () => counts.filter((count) => count === 'svc_jobs_dead_total billing.poison').length;
  await eventually(() => deaths() === 1);
  await jobs.administration.delete(first);
  t.is(await jobs.administration.find(first), undefined);
  const second = await jobs.publish(entities, Poison, {});
  await eventually(() => deaths() === 2);
  t.like(await jobs.administration.find(second), { state: 'dead' });
  await eventually(async () => (await jobs.administration.find(second)) === undefined);
});

each('a job comes at its time and not before', async (t, fresh) => {
  const { jobs, database } = await openReplica(t, fresh);
  const entities = database.forTenant(TENANT);
  const got: { n: number; at: number }[] = [];
  const began = Date.now();
  await jobs.publish(entities, charge(), { n: 2 }, { runAt: new Date(began + 1_200) });
  await jobs.publish(entities, charge(), { n: 1 }, { delay: 600 });
  jobs.work(charge(), async ({ n }) => void got.push({ n, at: Date.now() - began }));
  await eventually(() => got.length === 2);
  t.deepEqual(
    got.map(({ n }) => n),
    [1, 2],
  );
  t.true(got[0]!.at >= 595 && got[1]!.at >= 1_195, JSON.stringify(got));
  t.true(got[1]!.at < 4_000, 'not by the sweep alone');
});

each('of one key at most one job waits, and what comes while it runs is done after it', async (t, fresh) => {
  const { jobs, database } = await openReplica(t, fresh);
  const one = database.forTenant(TENANT);
  const other = database.forTenant(randomUUID());
  for (const n of [1, 2, 3]) await jobs.publish(one, charge(), { n }, { key: 'sync' });
  await jobs.publish(other, charge(), { n: 10 }, { key: 'sync' });
  await jobs.publish(one, charge(), { n: 20 }, { key: 'rest', delay: 60_000 });
  await one.transaction((inside) => jobs.publish(inside, charge(), { n: 21 }, { key: 'rest' }));
  const got: number[] = [];
  const blocked = Promise.withResolvers<void>();
  jobs.work(charge(), async ({ n }) => {
    got.push(n);
    if (n === 3) await blocked.promise;
  });
  await eventually(() => got.length === 3);
  await jobs.publish(one, charge(), { n: 4 }, { key: 'sync' });
  await eventually(() => got.includes(4));
  blocked.resolve();
  await settled(() => got.length);
  t.deepEqual(
    got.sort((a, b) => a - b),
    [3, 4, 10, 21],
  );
});

each('an attempt keeps its job for longer than a lease, by renewing it', async (t, fresh) => {
  // A lease that a loaded machine does not miss: it may stand still for two seconds.
  const { jobs, database } = await openReplica(t, fresh, { times: { lease: 3_000, sweep: 50 } });
  const dueAt = async () => Number((await fresh.ask('select due_at from kernel_jobs'))[0]?.due_at);
  const ends: number[] = [];
  const done = Promise.withResolvers<void>();
  jobs.work(charge(), async (_, { attempt }) => {
    const end = await dueAt();
    await eventually(async () => (await dueAt()) >= end + 3_000);
    ends.push(attempt);
    done.resolve();
  });
  await jobs.publish(database.forTenant(TENANT), charge(), { n: 1 });
  await done.promise;
  await eventually(async () => (await jobs.administration.list({}, { limit: 10, offset: 0 })).total === 0);
  t.deepEqual(ends, [1]);
});

each('an attempt that ends when another has the job changes nothing', async (t, fresh) => {
  const { jobs, database, counts, lines } = await openReplica(t, fresh, { times: { sweep: 50 } });
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  const begun: number[] = [];
  jobs.work(
    charge(),
    async (_, { attempt }) => {
      begun.push(attempt);
      await (attempt === 1 ? first : second).promise;
    },
    { concurrency: 2 },
  );
  await jobs.publish(database.forTenant(TENANT), charge(), { n: 1 });
  await eventually(() => begun.length === 1);
  // As if this process had stood still for longer than its lease.
  await fresh.ask('update kernel_jobs set due_at = 0');
  await eventually(() => begun.length === 2);
  first.resolve();
  await eventually(() => lines.some(({ msg }) => /had lost its lease/.test(msg)));
  const { jobs: rest } = await jobs.administration.list({}, { limit: 10, offset: 0 });
  t.deepEqual(
    rest.map(({ state, attempt }) => [state, attempt]),
    [['running', 2]],
    'the other one goes on',
  );
  t.is(countOf(counts, 'svc_jobs_completed_total'), 0);
  second.resolve();
  await eventually(() => countOf(counts, 'svc_jobs_completed_total') === 1);
  t.deepEqual(begun, [1, 2]);
});

each(
  'a job whose process died while the clock was far ahead is begun again after one lease',
  async (t, fresh) => {
    const { jobs, database } = await openReplica(t, fresh, { times: { lease: 300, sweep: 50 } });
    const attempts: number[] = [];
    await jobs.publish(database.forTenant(TENANT), charge(), { n: 1 });
    await fresh.ask(
      "update kernel_jobs set state = 'running', ticket = 'dead', attempt = 1, due_at = due_at + 34560000000",
    );
    jobs.work(charge(), async (_, { attempt }) => void attempts.push(attempt));
    await eventually(() => attempts.length === 1);
    t.deepEqual(attempts, [2]);
  },
);

each(
  'a handler that does not end is left alone at its deadline, and the job is tried again',
  async (t, fresh) => {
    const { jobs, database, counts } = await openReplica(t, fresh);
    const Slow = charge({ timeout: 50, attempts: 2 });
    const seen: string[] = [];
    jobs.work(Slow, async (_, { attempt, signal }) => {
      if (attempt === 2) return;
      await new Promise<void>((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          seen.push(String(signal.reason));
          reject(signal.reason);
        });
      });
    });
    await jobs.publish(database.forTenant(TENANT), Slow, { n: 1 });
    await eventually(() => countOf(counts, 'svc_jobs_completed_total') === 1);
    t.regex(seen.join(), /timeout/);
  },
);

each(
  'at stop what is under way ends or goes back without its attempt, and nothing new begins',
  async (t, fresh) => {
    const { jobs, database } = await openReplica(t, fresh);
    const entities = database.forTenant(TENANT);
    const begun: number[] = [];
    const worker = jobs.work(
      charge(),
      async ({ n }, { signal }) => {
        begun.push(n);
        if (n === 1) await new Promise((_resolve, reject) => signal.addEventListener('abort', reject));
        else await pause(100);
      },
      { concurrency: 2 },
    );
    for (const n of [1, 2, 3]) await jobs.publish(entities, charge(), { n });
    await eventually(() => begun.length >= 2);
    await worker.stop(300);
    const begunAtStop = begun.length;
    const rest = await jobs.administration.list({}, { limit: 10, offset: 0 });
    t.true(
      rest.jobs.every(({ state, attempt }) => state === 'waiting' && attempt === 0),
      JSON.stringify(rest),
    );
    t.true(rest.total >= 1);
    await pause(200);
    t.is(begun.length, begunAtStop);
    const again: number[] = [];
    jobs.work(charge(), async ({ n }) => void again.push(n));
    await eventually(() => again.length === rest.total);
    t.true(again.includes(1));
  },
);

each('tenants take turns, whatever one of them has waiting', async (t, fresh) => {
  const { jobs, database } = await openReplica(t, fresh);
  const tenants = [randomUUID(), randomUUID(), randomUUID()];
  const [many, few, fewer] = tenants.map((id) => database.forTenant(id));
  for (let n = 0; n < 30; n += 1) await jobs.publish(many!, charge(), { n });
  for (let n = 0; n < 3; n += 1) await jobs.publish(few!, charge(), { n });
  await jobs.publish(fewer!, charge(), { n: 0 });
  const order: (string | undefined)[] = [];
  jobs.work(charge(), async (_, { tenantId }) => void order.push(tenantId), { concurrency: 1 });
  await eventually(() => order.length === 34);
  t.is(new Set(order.slice(0, 3)).size, 3, 'each tenant once');
  t.is(order.slice(0, 7).filter((id) => id === tenants[1]).length, 3);
});

each('two replicas share the jobs, each is done once', async (t, fresh) => {
  const [one, two] = [await openReplica(t, fresh), await openReplica(t, fresh)];
  const done: number[] = [];
  const working = new Set<object>();
  for (const replica of [one, two]) {
    replica.jobs.work(
      charge(),
      async ({ n }) => {
        working.add(replica);
        // One of them alone cannot end: it holds four at most.
        await eventually(() => working.size === 2);
        done.push(n);
      },
      { concurrency: 4 },
    );
  }
  const entities = one.database.forTenant(TENANT);
  for (let n = 0; n < 60; n += 1) await one.jobs.publish(entities, charge(), { n });
  await eventually(() => done.length >= 60);
  await settled(() => done.length);
  t.deepEqual(
    done.sort((a, b) => a - b),
    Array.from({ length: 60 }, (_, n) => n),
  );
});

each('a payload is checked on both sides', async (t, fresh) => {
  const { jobs, database, counts } = await openReplica(t, fresh);
  const entities = database.forTenant(TENANT);
  const wrong = charge() as never;
  const refused = (work: () => Promise<unknown>, code: string) =>
    t.throwsAsync(work, { code, message: /(?!.*secret)/ });
  await refused(() => jobs.publish(entities, wrong, { n: 'secret' } as never), 'job.payload-invalid');
  await refused(() => jobs.publish(entities, charge(), { n: 1 }, { delay: -1 }), 'job.option-invalid');
  await refused(() => jobs.publish(entities, charge(), { n: 1 }, { key: 'ä' }), 'job.option-invalid');
  await refused(
    () => jobs.publish(entities, charge(), { n: 1 }, { runAt: new Date(Number.NaN) }),
    'job.option-invalid',
  );
  const Text = defineJob('billing.text', Type.Object({ text: Type.String() }));
  await refused(() => jobs.publish(entities, Text, { text: 'x'.repeat(70_000) }), 'job.payload-too-large');
  const elsewhere = defineJob('billing.charge', Type.Object({ n: Type.String() }), { attempts: 1 });
  const id = await jobs.publish(entities, elsewhere, { n: 'from another version' });
  jobs.work(charge(), async () => t.fail('it does not fit'));
  await eventually(() => countOf(counts, 'svc_jobs_dead_total') === 1);
  t.regex((await jobs.administration.find(id))?.error ?? '', /\/n must be integer/);
});

each(
  'idle workers ask for nothing one by one: a look is one statement for all their queues',
  async (t, fresh) => {
    const { jobs, database } = await openReplica(t, fresh, { times: { sweep: 50 } });
    const other = await openReplica(t, fresh);
    const record = recordStatements(database);
    const done: number[] = [];
    const all = Array.from({ length: 30 }, (_, index) =>
      defineJob(`billing.kind-${index}`, Type.Object({ n: Type.Integer() })),
    );
    for (const job of all) jobs.work(job, async ({ n }) => void done.push(n));
    await pause(400);
    const idle = record.take().map(({ sql }) => sql);
    const sweeps = idle.filter((sql) => sql.includes('min(due_at)')).length;
    const looks = idle.filter((sql) => sql.includes('as queue')).length;
    t.deepEqual(
      idle.filter((sql) => /^(update|delete)/.test(sql)),
      [],
      'nothing is changed while nothing is due',
    );
    t.true(sweeps >= 1 && Math.abs(looks - sweeps) <= 1, `${sweeps}, ${looks}`);
    t.false(idle.some((sql) => sql.includes(`set state = 'running'`)));
    // Only PostgreSQL sends wake-ups from one process to the other here.
    await other.jobs.publish(other.database.forTenant(TENANT), all[7]!, { n: 7 });
    await eventually(() => done.length === 1);
    const claims = record.take().filter(({ sql }) => sql.includes(`set state = 'running'`));
    t.true(claims.every(({ parameters }) => parameters.includes(all[7]!.id)));
  },
);

each('while Redis is away jobs are found by looking', async (t, fresh) => {
  const redisUrl = 'redis://127.0.0.1:1';
  const [one, two] = [await openReplica(t, fresh, { redisUrl }), await openReplica(t, fresh, { redisUrl })];
  const done: number[] = [];
  two.jobs.work(charge(), async ({ n }) => void done.push(n));
  const entities = one.database.forTenant(TENANT);
  const began = performance.now();
  await one.jobs.publish(entities, charge(), { n: 1 });
  t.true(performance.now() - began < 5_000, 'publishing does not wait for Redis');
  await eventually(() => done.length === 1);
});

each(
  'a job counts as old from the moment when it could begin, and not while it is scheduled',
  async (t, fresh) => {
    const { jobs, database, ages, counts } = await openReplica(t, fresh, { times: { sweep: 50, depths: 1 } });
    const states = () => counts.filter((count) => count === 'svc_jobs billing.charge').length;
    await jobs.publish(database.forTenant(TENANT), charge(), { n: 1 }, { delay: 3_600_000 });
    const day = 24 * 3_600_000;
    await fresh.ask(`update kernel_jobs set created_at = created_at - ${day}`);
    const seen = states();
    await eventually(() => states() > seen + 1);
    t.true(
      ages.every((age) => age === 0),
      'it was published a day ago, and nobody is late',
    );
    // Nobody works here. Its time was ten minutes ago.
    await fresh.ask(`update kernel_jobs set due_at = due_at - ${3_600_000 + 600_000}`);
    await eventually(() => ages.some((age) => age > 0));
    const age = ages.find((one) => one > 0)!;
    t.true(age >= 590 && age < 1_000, String(age));
  },
);

for (const [what, minutes] of [
  ['behind', -10],
  ['ahead', 10],
] as const) {
  each(`a delay is as long where the clock of the process is ${what}`, async (t, fresh) => {
    // There all processes share the machine's clock.
    if (fresh.family === 'sqlite') {
      t.pass();
      return;
    }
    const clock = { ...systemClock, now: () => Date.now() + minutes * 60_000 };
    const { jobs, database } = await openReplica(t, fresh, { clock, times: { sweep: 100 } });
    const begun: number[] = [];
    jobs.work(charge(), async ({ n }) => void begun.push(n));
    const publish = (n: number, delay: number) =>
      jobs.publish(database.forTenant(TENANT), charge(), { n }, { delay, key: 'later' });
    // The clocks are compared by the first sweep.
    await eventually(async () => {
      await publish(1, 60_000);
      const [job] = (await jobs.administration.list({}, { limit: 1, offset: 0 })).jobs;
      return job !== undefined && Math.abs(job.dueAt - (await database.now()) - 60_000) < 30_000;
    });
    begun.length = 0;
    const published = performance.now();
    await publish(2, 700);
    await eventually(() => begun.length === 1);
    t.true(performance.now() - published >= 690);
    t.deepEqual(begun, [2]);
  });
}
