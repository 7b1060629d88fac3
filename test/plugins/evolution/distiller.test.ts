import { setImmediate as othersTurn } from 'node:timers/promises';
import type { Database } from 'agent-gateway';
import test, { type ExecutionContext } from 'ava';
import { type GeneMove, GeneMoved } from '../../../plugins/evolution/contract.ts';
import evolution from '../../../plugins/evolution/plugin.ts';
import { featuresOf } from '../../../plugins/evolution/rules/features.ts';
import { createGeneDesk } from '../../../plugins/evolution/services/genes/gene-desk.ts';
import { createDistiller } from '../../../plugins/evolution/services/learn/distiller.ts';
import {
  GeneTable,
  LearnerTable,
  OutcomeTable,
  type TaskRow,
  TaskTable,
} from '../../../plugins/evolution/store/tables.ts';
import { fakeDurableEvents, startTestGateway } from '../../../testing/index.ts';
import { eachGatewayDatabase } from '../../support/databases.ts';
import { geneRow } from '../../support/gene-rows.ts';
import { silent } from '../../support/silent.ts';

const signal = new AbortController().signal;

/** A gateway whose distiller the test runs itself. */
async function start(t: ExecutionContext, env: Readonly<Record<string, string>>) {
  const gateway = await startTestGateway({ plugins: [evolution], env });
  t.teardown(gateway.stop);
  const { services } = gateway.gateway;
  const { database, ids } = services;
  const settings = { min_confidence: 0.5, discount: 0.93 };
  const learned: string[] = [];
  const events = { emit: (_event: unknown, { agent }: { agent: string }) => void learned.push(agent) };
  const distiller = (
    over: Partial<Pick<Database, 'forTenant' | 'system'>> = {},
    more: Partial<Parameters<typeof createDistiller>[0]> = {},
  ) =>
    createDistiller({
      ...services,
      ...silent,
      settings,
      events,
      database: { ...bound(database), ...over },
      // Other tests of the process have their turn, and nothing waits longer than that.
      pauseFor: () => othersTurn(),
      ...more,
    });
  const task = (more: Partial<TaskRow> = {}): Omit<TaskRow, 'tenantId'> =>
    ({
      id: ids.uuid(),
      agentName: 'clerk',
      taskClass: 'sums',
      features: featuresOf('add the numbers'),
      components: { 'builtin/calculator': 1 },
      session: 's1',
      arm: 'none',
      advised: [],
      outcome: true,
      isCounted: false,
      createdAt: new Date(),
      ...more,
    }) as Omit<TaskRow, 'tenantId'>;
  return { database, services, distiller, learned, task, tenant: (await gateway.makeTenant()).id };
}

/** The same, but for one method. */
function intercepted<T extends object, K extends keyof T>(
  target: T,
  method: K,
  replace: (original: T[K]) => T[K],
): T {
  return new Proxy(target, {
    get(_, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      const original = value.bind(target);
      return name === method ? replace(original) : original;
    },
  });
}

/** Gives these rows of one table, and the real ones of all others. */
function reading(table: unknown, found: readonly unknown[]) {
  return ((rows: (...args: unknown[]) => unknown) =>
    (...args: unknown[]) =>
      args[0] === table ? Promise.resolve(found) : rows(...args)) as never;
}

const bound = (database: Database) => ({
  forTenant: database.forTenant.bind(database),
  system: database.system.bind(database),
});

eachGatewayDatabase(test, 'an agent with many tasks keeps no other waiting', async (t, fresh) => {
  const { database, distiller, learned, task, tenant } = await start(t, fresh.environment);
  const entities = database.forTenant(tenant);
  const busy = Array.from({ length: 300 }, () => task({ agentName: 'busy' }));
  await entities.insertMany(TaskTable, [...busy, task({ agentName: 'quiet' })]);
  await distiller().run(signal);
  t.deepEqual(learned, ['busy', 'quiet', 'busy', 'busy']);
  t.is(await entities.count(TaskTable, { isCounted: false }), 0);
});

test('a run that is over rests no longer, and the next one learns what it had read', async (t) => {
  const { database, distiller, task, tenant } = await start(t, {});
  const entities = database.forTenant(tenant);
  await entities.insertMany(TaskTable, [task()]);
  for (const last of [1, 2, 3, 4, 5]) {
    let rests = 0;
    const ending = new AbortController();
    const pauseFor = async () => {
      rests += 1;
      if (rests < last) return;
      ending.abort();
      await new Promise(() => {});
    };
    await distiller({}, { pauseFor }).run(ending.signal);
    t.is(rests, last);
    t.is(await entities.count(TaskTable, { isCounted: false }), 1);
  }
  await distiller().run(signal);
  t.is(await entities.count(TaskTable, { isCounted: false }), 0);
});

eachGatewayDatabase(test, 'several that distil at one time count each run once', async (t, fresh) => {
  const { database, distiller, task, tenant } = await start(t, fresh.environment);
  const entities = database.forTenant(tenant);
  const all = Array.from({ length: 300 }, (_, n) =>
    task({ session: `s${n % 7}`, arm: n % 2 === 0 ? 'advised' : 'holdout' }),
  );
  await entities.insertMany(TaskTable, all);
  await Promise.all([distiller().run(signal), distiller().run(signal), distiller().run(signal)]);
  for (let more = 0; more < 3; more += 1) await distiller().run(signal);
  const [gene] = await entities.rows(GeneTable, { component: 'builtin/calculator' }, { limit: 2 });
  t.like(gene, { useCount: 300, successCount: 300, state: 'promoted' });
  const arms = await entities.rows(OutcomeTable, {}, { orderBy: { arm: 'asc' }, limit: 9 });
  t.deepEqual(
    arms.map(({ arm, tasks, successes }) => ({ arm, tasks, successes })),
    [
      { arm: 'advised', tasks: 150, successes: 150 },
      { arm: 'holdout', tasks: 150, successes: 150 },
    ],
  );
  t.is(await entities.count(TaskTable), 256, 'what is behind the window is forgotten');
});

eachGatewayDatabase(
  test,
  'of two that distil at one time, since a lease was lost, one writes, and each run counts once',
  async (t, fresh) => {
    const { database, distiller, services, task, tenant } = await start(t, fresh.environment);
    const entities = database.forTenant(tenant);
    // Of a revoked gene no version changes: the marks of the tasks alone keep the counts of arms right.
    await entities.insert(TaskTable, task());
    await distiller().run(signal);
    const [gene] = await entities.rows(GeneTable, {}, { limit: 1 });
    await createGeneDesk({ ...services, database, events: { emit() {} } }).decide(
      ...([tenant, gene!.id, 'revoked', 'wrong'] as const),
    );
    const runs = Array.from({ length: 40 }, () => task({ arm: 'advised' }));
    await entities.insertMany(TaskTable, runs);
    // Both have read when the first of them writes.
    const both = Promise.withResolvers<void>();
    let reading = 0;
    const meeting = (id: string) =>
      intercepted(database.forTenant(id), 'transaction', (transaction) => async (work, options) => {
        reading += 1;
        if (reading === 2) both.resolve();
        await both.promise;
        return transaction(work, options);
      });
    const granted = { signal, [Symbol.asyncDispose]: async () => {} };
    const leases = { tryAcquire: async () => granted as never };
    const rivals = [
      distiller({ forTenant: meeting }, { leases }),
      distiller({ forTenant: meeting }, { leases }),
    ];
    await Promise.all(rivals.map((rival) => rival.run(signal)));
    t.is(reading, 2);
    t.like(await entities.rows(OutcomeTable, {}, { limit: 2 }), [
      { arm: 'advised', tasks: 40, successes: 40 },
    ]);
    t.is(await entities.count(TaskTable, { isCounted: false }), 0);
  },
);

eachGatewayDatabase(
  test,
  'a distillation that dies half-way has counted nothing, and is done again',
  async (t, fresh) => {
    const { database, distiller, task, tenant } = await start(t, fresh.environment);
    const entities = database.forTenant(tenant);
    await entities.insertMany(
      TaskTable,
      Array.from({ length: 5 }, () => task()),
    );
    const dying = distiller({
      forTenant: (id: string) =>
        new Proxy(database.forTenant(id), {
          get(target, name) {
            if (name !== 'transaction') return Reflect.get(target, name);
            // All is written, and the process is gone before the commit.
            return (work: (entities: unknown) => Promise<unknown>, options: object) =>
              target.transaction(async (inside) => {
                await work(inside);
                throw new Error('killed');
              }, options);
          },
        }),
    });
    await dying.run(signal);
    t.is(await entities.count(GeneTable), 0);
    t.is(await entities.count(TaskTable, { isCounted: false }), 5);
    await distiller().run(signal);
    t.like((await entities.rows(GeneTable, {}, { limit: 1 }))[0], { useCount: 5 });
  },
);

eachGatewayDatabase(
  test,
  'what is decided about a gene while it is counted is not overwritten, and nothing is lost',
  async (t, fresh) => {
    const { database, distiller, services, task, tenant } = await start(t, fresh.environment);
    const entities = database.forTenant(tenant);
    await entities.insertMany(TaskTable, [task(), task()]);
    await distiller().run(signal);
    const [gene] = await entities.rows(GeneTable, {}, { limit: 1 });
    await entities.insertMany(TaskTable, [task({ session: 's2' }), task({ session: 's2' })]);
    const desk = createGeneDesk({ ...services, database, events: { emit() {} } });
    await desk.decide(tenant, gene!.id, 'revoked', 'wrong');
    const rows = () => entities.rows(GeneTable, {}, { limit: 2 });
    // It has read its genes when the decision comes.
    const overtaken = distiller({
      forTenant: (id: string) => intercepted(database.forTenant(id), 'rows', reading(GeneTable, [gene])),
    });
    await overtaken.run(signal);
    t.is(await entities.count(TaskTable, { isCounted: false }), 2, 'nothing was counted');
    t.like(await rows(), [{ state: 'revoked', useCount: 2 }]);
    await distiller().run(signal);
    t.like(await rows(), [{ state: 'revoked', useCount: 2 }]);
    t.is(await entities.count(TaskTable, { isCounted: false }), 0);
  },
);

test('those who advise hear which agent has learned', async (t) => {
  const { database, distiller, learned, task, tenant } = await start(t, {});
  await database.forTenant(tenant).insertMany(TaskTable, [task(), task({ agentName: 'helper' }), task()]);
  await distiller().run(signal);
  await distiller().run(signal);
  t.deepEqual(learned, ['clerk', 'helper']);
});

test('only what stood in the advice, and was followed, is credited with what came of it', async (t) => {
  const { database, distiller, task, tenant } = await start(t, {});
  const entities = database.forTenant(tenant);
  const both = { 'builtin/calculator': 1, 'builtin/current_time': 0 } as const;
  await entities.insertMany(TaskTable, [task({ components: both }), task({ components: both })]);
  await distiller().run(signal);
  const [calculator] = await entities.rows(GeneTable, { component: 'builtin/calculator' }, { limit: 1 });
  t.deepEqual(calculator!.validation, { advised: 0, succeeded: 0, decidedBy: 'rule' });
  await entities.insertMany(TaskTable, [
    task({ components: both, advised: [calculator!.id] }),
    task({ components: { 'builtin/current_time': 1 }, advised: [calculator!.id] }),
  ]);
  await distiller().run(signal);
  const genes = await entities.rows(GeneTable, {}, { orderBy: { component: 'asc' }, limit: 9 });
  t.deepEqual(
    genes.map(({ component, useCount, validation: { advised, succeeded } }) => ({
      component,
      useCount,
      advised,
      succeeded,
    })),
    [
      { component: 'builtin/calculator', useCount: 3, advised: 1, succeeded: 1 },
      { component: 'builtin/current_time', useCount: 4, advised: 0, succeeded: 0 },
    ],
  );
});

test('sessions count whatever the order in which their runs were recorded', async (t) => {
  const { database, distiller, task, tenant } = await start(t, {});
  const entities = database.forTenant(tenant);
  const runs = Object.entries({
    early: ['s1', 's2', 's2'],
    late: ['s2', 's2', 's1'],
    one: ['s1', 's1', 's1'],
  });
  for (const [taskClass, sessions] of runs)
    await entities.insertMany(
      TaskTable,
      sessions.map((session) => task({ taskClass, session })),
    );
  await distiller().run(signal);
  const genes = await entities.rows(GeneTable, {}, { orderBy: { taskClass: 'asc' }, limit: 9 });
  t.deepEqual(
    genes.map(({ taskClass, state, sessions }) => [taskClass, state, sessions.length]),
    [
      ['early', 'promoted', 2],
      ['late', 'promoted', 2],
      ['one', 'candidate', 1],
    ],
  );
});

test('genes that a run promotes, or no longer trusts, are announced once each, with what they were', async (t) => {
  const { database, distiller, task, tenant } = await start(t, {});
  const entities = database.forTenant(tenant);
  const durableEvents = fakeDurableEvents();
  const learn = async (success: 0 | 1) => {
    const components = { 'builtin/calculator': success };
    const sessions = Array.from({ length: 20 }, (_, n) => task({ session: `s${n}`, components }));
    await entities.insertMany(TaskTable, sessions);
    await distiller({}, { durableEvents }).run(signal);
  };
  await learn(1);
  const [gene] = await entities.rows(GeneTable, {}, { limit: 2 });
  t.is(gene?.state, 'promoted');
  await learn(1);
  await learn(0);
  const [after] = await entities.rows(GeneTable, {}, { limit: 2 });
  t.is(after?.state, 'quarantined');
  t.deepEqual(
    durableEvents.published.map(({ event, tenantId, payload }) => {
      const { change, from, gene: announced } = payload as GeneMove;
      return { event, tenantId, change, from, gene: announced.geneId };
    }),
    [
      { change: 'promoted', from: 'candidate' },
      { change: 'quarantined', from: 'promoted' },
    ].map((move) => ({ event: GeneMoved.id, tenantId: tenant, ...move, gene: gene!.id })),
  );
});

test('a gene from elsewhere is credited with the runs that followed it, and promoted when it works here', async (t) => {
  const { database, distiller, task, tenant } = await start(t, {});
  const entities = database.forTenant(tenant);
  const gene = geneRow({
    id: task().id,
    agentName: '*',
    source: 'hub',
    confidence: 0.475,
    wins: 0.95,
    losses: 1.05,
    label: 'As it came',
    contentHash: 'theirs',
  });
  await entities.insert(GeneTable, gene);
  const advised = [gene.id];
  const runs = ['s1', 's2', 's3', 's4'].map((session) => task({ session, advised }));
  await entities.insertMany(TaskTable, [...runs, task()]);
  await distiller().run(signal);
  const [after] = await entities.rows(GeneTable, { source: 'hub' }, { limit: 1 });
  t.like(after, {
    useCount: 4,
    successCount: 4,
    state: 'promoted',
    label: 'As it came',
    contentHash: 'theirs',
  });
  t.true(after!.confidence > 0.6);
  t.is((await entities.rows(GeneTable, { source: 'local' }, { limit: 1 }))[0]?.useCount, 5);
});

test('where a tenant has too many agents, those that were quiet for longest make room, and others lose nothing', async (t) => {
  const { database, distiller, task, tenant } = await start(t, {});
  const entities = database.forTenant(tenant);
  const learners = Array.from({ length: 1_000 }, (_, n) => ({
    id: task().id,
    agentName: `agent-${n}`,
    classes: {},
    tasksSince: 0,
    updatedAt: new Date(n),
  }));
  for (let at = 0; at < learners.length; at += 500)
    await entities.insertMany(LearnerTable, learners.slice(at, at + 500));
  const of = (agentName: string) =>
    geneRow({ id: task().id, agentName, taskClass: 'sums', state: 'promoted' });
  await entities.insertMany(GeneTable, ['agent-0', 'agent-1', 'agent-2', 'agent-999'].map(of));
  await entities.insertMany(TaskTable, [task({ agentName: 'new-0' }), task({ agentName: 'new-1' })]);
  await distiller().run(signal);
  t.is(await entities.count(LearnerTable), 1_000);
  t.is(await entities.count(LearnerTable, { agentName: { $in: ['agent-0', 'agent-1'] } }), 0);
  const genes = await entities.rows(GeneTable, {}, { fields: ['agentName'], limit: 9 });
  t.deepEqual(genes.map(({ agentName }) => agentName).sort(), ['agent-2', 'agent-999', 'new-0', 'new-1']);
});

test('a gene that an administrator has decided about stays, however many others an agent learns', async (t) => {
  const { database, distiller, services, task, tenant } = await start(t, {});
  const entities = database.forTenant(tenant);
  const before = new Date(Date.now() - 60_000);
  const gene = (taskClass: string) =>
    geneRow({ id: task().id, agentName: 'clerk', taskClass, state: 'promoted', updatedAt: before });
  const decided = gene('decided');
  const others = Array.from({ length: 1_000 }, (_, n) => gene(`class-${n}`));
  for (let at = 0; at < others.length; at += 500)
    await entities.insertMany(GeneTable, others.slice(at, at + 500));
  await entities.insert(GeneTable, { ...decided, updatedAt: before });
  await createGeneDesk({ ...services, database, events: { emit() {} } }).decide(
    ...([tenant, decided.id, 'quarantined', 'wrong'] as const),
  );
  await entities.update(GeneTable, { id: decided.id }, { updatedAt: new Date(0) });
  await entities.insert(TaskTable, task());
  await distiller().run(signal);
  t.true((await entities.count(GeneTable)) <= 502, 'there was room to make');
  t.like(await entities.rows(GeneTable, { id: decided.id }, { limit: 1 }), [{ state: 'quarantined' }]);
});
