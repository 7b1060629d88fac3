import test, { type ExecutionContext } from 'ava';
import type { NewEvent } from '../../../../plugins/workflow/services/core/commands.ts';
import { createDefinitionStore } from '../../../../plugins/workflow/store/definition-store.ts';
import { pseudonymize } from '../../../../plugins/workflow/store/personal-traces.ts';
import { createRunQueries } from '../../../../plugins/workflow/store/run-queries.ts';
import { createRunStore } from '../../../../plugins/workflow/store/run-store.ts';
import { createVersions } from '../../../../plugins/workflow/store/versions.ts';
import { eachDatabase, type FreshDatabase } from '../../../support/databases.ts';
import { recordStatements } from '../../../support/statements.ts';
import { eventsOf, OTHER_TENANT, runOf, stepOf, TENANT } from './states.ts';
import { storeKit } from './store-kit.ts';

/** Quotation marks, a backslash, a character outside of the basic plane, and what `like` would take for a wildcard. */
const ADA = 'ada "%_\\😀';
const BOB = 'bob';
const GRAPH = { nodes: [], edges: [] };

async function open(t: ExecutionContext, fresh: FreshDatabase) {
  const kit = await storeKit(t, fresh);
  return {
    ...kit,
    named: kit,
    store: createRunStore(kit),
    queries: createRunQueries(kit),
    versions: createVersions(kit),
    definitions: createDefinitionStore(kit),
    rename: (userId: string, tenantId = TENANT) =>
      kit.database
        .forTenant(tenantId)
        .transaction((entities) => pseudonymize(kit, entities, userId, 'erased-1')),
  };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** Events that name a user in each way, and some that do not. */
function told(user: string): readonly NewEvent[] {
  const event = (seq: number, type: NewEvent['type'], data: NewEvent['data']): NewEvent => ({
    seq,
    type,
    data,
    nodeId: null,
    stepId: null,
    createdAt: 1_700_000_000_000,
  });
  return [
    event(1, 'run.started', { by: user }),
    event(2, 'task.created', { assignee: user, attempt: 1 }),
    event(3, 'task.completed', { by: user, outcome: user }),
    event(4, 'run.resumed', { by: user }),
    event(5, 'step.completed', { record: { by: user } }),
    event(6, 'run.cancelled', { by: user }),
  ];
}

/** A run of a tenant that somebody else started, and that names a user wherever one can be named. */
async function nameIn({ store }: Opened, user: string, tenantId = TENANT) {
  const ask = stepOf('ask', {
    nodeType: 'human_task',
    status: 'completed',
    assignee: user,
    output: { name: user },
    input: { assignee: user, instructions: `Ask ${user}` },
    completion: { by: user, payload: { output: { name: user } } },
  });
  const open = stepOf('open', {
    nodeType: 'human_task',
    status: 'waiting',
    assignee: user,
    input: { assignee: user },
  });
  const state = runOf({ tenantId, startedBy: 'starter', seq: 6 }, [ask, open]);
  await store.create({ state, events: told(user), sinks: [] });
  return { tenantId, runId: state.id };
}

async function seen({ store, queries }: Opened, place: Awaited<ReturnType<typeof nameIn>>) {
  const run = (await store.read(place))!;
  const { events } = await queries.events({ ...place, limit: 1_000 });
  return {
    assignees: [...run.steps.values()].map(({ assignee }) => assignee),
    inputs: [...run.steps.values()].map(({ input }) => input),
    completion: run.steps.get('ask')!.completion,
    output: run.steps.get('ask')!.output,
    events: events.map(({ data }) => data),
  };
}

eachDatabase(test, 'a pseudonym takes the place of a user wherever others name him', async (t, fresh) => {
  const opened = await open(t, fresh);
  const { rename, queries, definitions, versions } = opened;
  const his = await nameIn(opened, ADA);
  const of = { tenantId: TENANT, definitionId: 'd' };
  const version = await versions.ensure({ ...of, graph: GRAPH, publishedBy: ADA });
  const content = { name: 'flow', description: '', graph: GRAPH };
  const made = await definitions.create(TENANT, { ...content, createdBy: ADA });
  await rename(ADA);

  const { assignees, inputs, completion, output, events } = await seen(opened, his);
  t.deepEqual(assignees, ['erased-1', 'erased-1']);
  // Words that a graph or its data hold stay as they are.
  t.deepEqual(inputs, [{ assignee: 'erased-1', instructions: `Ask ${ADA}` }, { assignee: 'erased-1' }]);
  // What a person wrote belongs to the run of somebody else.
  t.deepEqual(completion, { by: 'erased-1', payload: { output: { name: ADA } } });
  t.deepEqual(output, { name: ADA });
  t.deepEqual(events, [
    { by: 'erased-1' },
    { assignee: 'erased-1', attempt: 1 },
    { by: 'erased-1', outcome: ADA },
    { by: 'erased-1' },
    { record: { by: ADA } },
    { by: 'erased-1' },
  ]);
  t.is((await versions.get(TENANT, version.id))!.publishedBy, 'erased-1');
  t.is((await definitions.get(TENANT, made.id))!.createdBy, 'erased-1');
  const page = { limit: 10, offset: 0 };
  t.is((await queries.openTasks(TENANT, { ...page, assignees: [ADA] })).length, 0);
  t.is((await queries.openTasks(TENANT, { ...page, assignees: ['erased-1'] })).length, 1);
});

eachDatabase(test, 'other users, and other tenants, keep their names', async (t, fresh) => {
  const opened = await open(t, fresh);
  const bobs = await nameIn(opened, BOB);
  const elsewhere = await nameIn(opened, ADA, OTHER_TENANT);
  const before = [await seen(opened, bobs), await seen(opened, elsewhere)];
  // `_` and `%` of a name stand for themselves.
  for (const user of [ADA, 'bo_', '%', 'BOB', 'bob ', '', 'b\0b']) await opened.rename(user);
  t.deepEqual([await seen(opened, bobs), await seen(opened, elsewhere)], before);
});

eachDatabase(test, 'every page of many runs is looked through', async (t, fresh) => {
  const opened = await open(t, fresh);
  const places = [];
  for (let n = 0; n < 210; n += 1) places.push(await nameIn(opened, n % 2 === 0 ? ADA : BOB));
  // A run whose events are more than a page, the last of which names him.
  const long = runOf({ seq: 1_051 });
  const last = { ...told(ADA)[5]!, seq: 1_051 };
  const others = eventsOf(1, 1_050, { by: BOB }).map((event) => ({ ...event, type: 'run.resumed' as const }));
  await opened.store.create({ state: long, events: [...others, last], sinks: [] });
  const record = recordStatements(opened.database);
  await opened.rename(ADA);
  // MariaDB may read a page of all events of a tenant from the first one on, and each further page again.
  const reads = record.take().filter(({ sql }) => /select .* from \W?workflow_events/.test(sql));
  t.true(reads.length > 2);
  for (const { sql } of reads) t.regex(sql, /run_id\W? in \(/);
  for (const [n, place] of places.entries()) {
    const { assignees } = await seen(opened, place);
    t.deepEqual(assignees, n % 2 === 0 ? ['erased-1', 'erased-1'] : [BOB, BOB]);
  }
  const place = { tenantId: TENANT, runId: long.id };
  const { events } = await opened.queries.events({ ...place, after: 1_049, limit: 2 });
  t.deepEqual(
    events.map(({ data }) => data),
    [{ by: BOB }, { by: 'erased-1' }],
  );
});

eachDatabase(test, 'what is done in a transaction that fails is undone', async (t, fresh) => {
  const opened = await open(t, fresh);
  const place = await nameIn(opened, ADA);
  const before = await seen(opened, place);
  await t.throwsAsync(
    opened.database.forTenant(TENANT).transaction(async (entities) => {
      await pseudonymize(opened.named, entities, ADA, 'erased-1');
      throw new Error('not so');
    }),
    { message: 'not so' },
  );
  t.deepEqual(await seen(opened, place), before);
});
