import test from 'ava';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { createRedaction } from '../../../../../foundation/redaction/redaction.ts';
import type { GatewayError } from '../../../../../kernel/index.ts';
import type { Graph } from '../../../../../plugins/workflow/contract/graph.ts';
import type { Definitions } from '../../../../../plugins/workflow/services/definitions/create-definitions.ts';
import { createDefinitions } from '../../../../../plugins/workflow/services/definitions/create-definitions.ts';
import { workflowFile } from '../../../../../plugins/workflow/services/definitions/workflow-resource.ts';
import { createDefinitionStore } from '../../../../../plugins/workflow/store/definition-store.ts';
import { createVersions } from '../../../../../plugins/workflow/store/versions.ts';
import { eachDatabase } from '../../../../support/databases.ts';
import { storeKit } from '../../store/store-kit.ts';
import { asking, BROKEN, graphOf, pluginType, testTypes } from './graphs.ts';
import { memoryDefinitions, memoryFiles } from './memory-definitions.ts';

const redactor = createRedaction();
const UNKNOWN = '0197a000-0000-7000-8000-00000000ffff';
const KEY = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH';

const ann = { tenantId: 'acme', identityId: 'ann', isAuthor: true };
const reader = { tenantId: 'acme', identityId: 'rob', isAuthor: false };
const stranger = { tenantId: 'other', identityId: 'eve', isAuthor: true };

const content = (graph: Graph = asking('Hello'), name = 'greet') => ({ name, description: 'Greets', graph });

function started(fileGraph: Graph = asking('From a file')) {
  const types = testTypes();
  const memory = memoryDefinitions();
  const file = workflowFile(
    { name: 'triage', description: 'Of agents.d', graph: fileGraph, loadedAt: Date.UTC(2029, 5, 1) },
    types,
  );
  const files = memoryFiles(file);
  const definitions = createDefinitions({ ...memory, files, types, redactor });
  return { ...memory, definitions, types, file };
}

test('a definition begins as a draft that its tenant alone sees', async (t) => {
  const { definitions } = started();
  const made = await definitions.create(ann, content());
  t.deepEqual(made, {
    id: made.id,
    name: 'greet',
    description: 'Greets',
    status: 'draft',
    graph: asking('Hello'),
    latest_version: null,
    revision: 1,
    created_by: 'ann',
    source: 'api',
    created_at: '2030-01-01T00:00:00.000Z',
    updated_at: '2030-01-01T00:00:00.000Z',
  });
  t.deepEqual(await definitions.get(ann, made.id), made);
  t.deepEqual((await definitions.list(ann, { limit: 1, offset: 0 })).definitions, [made]);
  t.is((await definitions.list(stranger, { limit: 9, offset: 0 })).total, 1, 'the file alone');
  for (const attempt of [
    () => definitions.get(stranger, made.id),
    () => definitions.update(stranger, made.id, { name: 'mine' }),
    () => definitions.publish(stranger, made.id),
    () => definitions.archive(stranger, made.id),
    () => definitions.remove(stranger, made.id),
    () => definitions.versions(stranger, made.id, { limit: 1, offset: 0 }),
    () => definitions.version(stranger, made.id, 1),
    () => definitions.resolve('other', made.id),
    () => definitions.get(ann, UNKNOWN),
    () => definitions.get(ann, 'nobody'),
    () => definitions.resolve('acme', UNKNOWN),
    () => definitions.resolve('acme', 'nobody'),
  ]) {
    await t.throwsAsync(attempt, { code: 'workflow.definition-not-found' }, String(attempt));
  }
  t.deepEqual(await definitions.get(ann, made.id), made);
});

test('a change leaves what it does not name, and one that names nothing changes nothing', async (t) => {
  const { definitions, clock } = started();
  const made = await definitions.create(ann, content());
  clock.advance(1000);
  const renamed = await definitions.update(ann, made.id, { name: 'salute' });
  t.deepEqual(renamed, { ...made, name: 'salute', revision: 2, updated_at: '2030-01-01T00:00:01.000Z' });
  t.deepEqual(await definitions.update(ann, made.id, {}), renamed);
  const other = await definitions.update(ann, made.id, { graph: asking('Bye'), description: '' });
  t.deepEqual(other, { ...renamed, graph: asking('Bye'), description: '', revision: 3 });
});

/** Expects one of these revisions. */
const oneOf =
  (...revisions: number[]) =>
  (revision: number) =>
    revisions.includes(revision);

test('who expects another revision changes nothing', async (t) => {
  const { definitions } = started();
  const { id } = await definitions.create(ann, content());
  const mismatch = { code: 'workflow.revision-mismatch' };
  for (const expected of [oneOf(2), oneOf(), oneOf(0, 7)]) {
    await t.throwsAsync(definitions.update(ann, id, { name: 'x' }, expected), mismatch);
    await t.throwsAsync(definitions.publish(ann, id, expected), mismatch);
    await t.throwsAsync(definitions.archive(ann, id, expected), mismatch);
    await t.throwsAsync(definitions.remove(ann, id, expected), mismatch);
  }
  t.like(await definitions.get(ann, id), { name: 'greet', revision: 1, status: 'draft' });
  t.is((await definitions.update(ann, id, { name: 'x' }, oneOf(7, 1))).revision, 2);
});

test('of two who change at once the second repeats his change, unless he expected the first revision', async (t) => {
  const memory = memoryDefinitions();
  const parts = { ...memory, files: memoryFiles(), types: testTypes(), redactor };
  const { id } = await createDefinitions(parts).create(ann, content());
  let isFirst = true;
  const raced = createDefinitions({
    ...parts,
    store: {
      ...memory.store,
      async update(before, changes) {
        if (isFirst) await memory.store.update(before, { description: 'Of somebody else' });
        isFirst = false;
        return memory.store.update(before, changes);
      },
    },
  });
  t.like(await raced.update(ann, id, { name: 'mine' }), {
    name: 'mine',
    description: 'Of somebody else',
    revision: 3,
  });
  isFirst = true;
  await t.throwsAsync(raced.update(ann, id, { name: 'again' }, oneOf(3)), {
    code: 'workflow.revision-mismatch',
  });
  t.is((await raced.get(ann, id)).name, 'mine');
});

test('a change that others always get in between of gives up in the end', async (t) => {
  const memory = memoryDefinitions();
  const parts = { ...memory, files: memoryFiles(), types: testTypes(), redactor };
  const { id } = await createDefinitions(parts).create(ann, content());
  let tries = 0;
  const update = async () => {
    tries += 1;
    return undefined;
  };
  const before = memory.clock.monotonic();
  const pause = async (ms: number) => memory.clock.advance(ms);
  const definitions = createDefinitions({ ...parts, store: { ...memory.store, update }, pause });
  const busy = await t.throwsAsync(definitions.update(ann, id, { name: 'x' }), { code: 'workflow.busy' });
  t.true(tries > 100);
  t.true(memory.clock.monotonic() - before < 11_000);
  const { kind, extras, detail } = busy as GatewayError;
  t.deepEqual([kind, extras.headers, extras.retryable], ['unavailable', { 'retry-after': '1' }, undefined]);
  t.regex(detail, /Try again/);
});

eachDatabase(test, 'publishings of one definition at once wait for each other', async (t, fresh) => {
  const replicas = [await storeKit(t, fresh), await storeKit(t, fresh)].map((kit) =>
    createDefinitions({
      store: createDefinitionStore(kit),
      versions: createVersions(kit),
      files: memoryFiles(),
      types: testTypes(),
      redactor,
      clock: systemClock,
    }),
  );
  const [first, second] = replicas as [Definitions, Definitions];
  const { id } = await first.create(ann, content());
  const publishEight = async (...by: Definitions[]) => {
    const all = Array.from({ length: 8 }, (_, n) => by[n % by.length]!.publish(ann, id));
    return (await Promise.all(all)).map(({ version }) => version).toSorted((a, b) => a - b);
  };
  t.deepEqual(await publishEight(first), [1, 2, 3, 4, 5, 6, 7, 8]);
  t.deepEqual(await publishEight(first, second), [9, 10, 11, 12, 13, 14, 15, 16]);
  t.like(await second.get(ann, id), { latest_version: 16, revision: 17 });
});

test('each publishing makes a version of its own, and a later change of the draft leaves it', async (t) => {
  const { definitions } = started();
  const { id } = await definitions.create(ann, content(asking('One')));
  await t.throwsAsync(definitions.resolve('acme', id), { code: 'workflow.not-published' });
  const first = await definitions.publish(ann, id);
  t.like(first, { definition_id: id, version: 1, graph: asking('One'), published_by: 'ann' });
  t.deepEqual(await definitions.resolve('acme', id), { id: first.id, definitionId: id, version: 1 });
  t.like(await definitions.get(ann, id), { status: 'published', latest_version: 1, revision: 2 });

  t.like(await definitions.update(ann, id, { graph: asking('Two') }), {
    status: 'published',
    latest_version: 1,
    revision: 3,
    graph: asking('Two'),
  });
  t.is((await definitions.resolve('acme', id)).id, first.id, 'runs start from what was published');
  const second = await definitions.publish(ann, id);
  const third = await definitions.publish(ann, id);
  t.is((await definitions.resolve('acme', id)).id, third.id);
  t.deepEqual(await definitions.versions(ann, id, { limit: 2, offset: 0 }), {
    versions: [third, second],
    total: 3,
  });
  t.deepEqual(await definitions.versions(ann, id, { limit: 2, offset: 2 }), { versions: [first], total: 3 });
  for (const version of [first, second, third])
    t.deepEqual(await definitions.version(ann, id, version.version), version);
  for (const number of [0, 4])
    await t.throwsAsync(definitions.version(ann, id, number), { code: 'workflow.version-not-found' });
});

test('a draft can be deleted and not archived, what was published can be archived and not deleted', async (t) => {
  const { definitions } = started();
  const { id } = await definitions.create(ann, content());
  await t.throwsAsync(definitions.archive(ann, id), { code: 'workflow.not-published' });
  await definitions.remove(ann, id);
  await t.throwsAsync(definitions.get(ann, id), { code: 'workflow.definition-not-found' });
  await t.throwsAsync(definitions.remove(ann, id), { code: 'workflow.definition-not-found' });

  const { id: kept } = await definitions.create(ann, content());
  const version = await definitions.publish(ann, kept);
  await t.throwsAsync(definitions.remove(ann, kept), { code: 'workflow.published' });
  const archived = await definitions.archive(ann, kept);
  t.like(archived, { status: 'archived', latest_version: 1, revision: 3 });
  t.deepEqual(await definitions.archive(ann, kept), archived, 'a second time changes nothing');
  const refused = { code: 'workflow.archived' };
  await t.throwsAsync(definitions.update(ann, kept, { name: 'x' }), refused);
  await t.throwsAsync(definitions.publish(ann, kept), refused);
  await t.throwsAsync(definitions.resolve('acme', kept), refused);
  await t.throwsAsync(definitions.remove(ann, kept), { code: 'workflow.published' });
  t.deepEqual(await definitions.version(ann, kept, 1), version, 'what was published stays readable');
});

test('a graph that breaks rules is refused when it comes, when it changes, and when it is published', async (t) => {
  const { definitions, types } = started();
  const invalid = { code: 'workflow.graph-invalid' };
  const refusal = await t.throwsAsync(definitions.create(ann, content(BROKEN)), invalid);
  const { errors = [] } = (refusal as GatewayError).extras;
  t.true(errors.length >= 2, 'all problems at once');
  for (const { pointer, code } of errors) {
    t.regex(pointer, /^\/body\/graph(?:\/|$)/);
    t.regex(code ?? '', /^workflow\.graph\./);
  }
  t.is((await definitions.list(ann, { limit: 9, offset: 0 })).total, 1);

  const { id } = await definitions.create(ann, content());
  await t.throwsAsync(definitions.update(ann, id, { graph: BROKEN }), invalid);
  t.is((await definitions.get(ann, id)).revision, 1);

  types.plugins.push(pluginType());
  await definitions.update(ann, id, { graph: graphOf('acme/translate', { text: 'Hi' }) });
  types.plugins.pop();
  const gone = await t.throwsAsync(definitions.publish(ann, id), invalid, 'the plugin of a node is gone');
  t.like((gone as GatewayError).extras.errors, [{ pointer: '/graph/nodes/1/type' }]);
  t.is((await definitions.get(ann, id)).status, 'draft');
});

test('workflows of agents.d stand after the tenant’s own, in pages too', async (t) => {
  const { definitions } = started();
  const older = await definitions.create(ann, content(asking('1'), 'older'));
  const newer = await definitions.create(ann, content(asking('2'), 'newer'));
  const names = async (limit: number, offset: number) => {
    const { definitions: found, total } = await definitions.list(ann, { limit, offset });
    t.is(total, 3);
    return found.map(({ id }) => id);
  };
  t.deepEqual(await names(9, 0), [newer.id, older.id, 'triage']);
  t.deepEqual(await names(2, 0), [newer.id, older.id]);
  t.deepEqual(await names(2, 1), [older.id, 'triage']);
  t.deepEqual(await names(2, 2), ['triage']);
  t.deepEqual(await names(2, 3), []);
  t.deepEqual(await names(0, 0), []);
});

test('a workflow of agents.d is read by its name, started by its content, and changed by nobody', async (t) => {
  const { definitions } = started();
  t.deepEqual(await definitions.get(reader, 'triage'), {
    id: 'triage',
    name: 'triage',
    description: 'Of agents.d',
    status: 'published',
    graph: asking('From a file'),
    latest_version: null,
    revision: 7,
    created_by: 'deployment',
    created_at: '2029-06-01T00:00:00.000Z',
    updated_at: '2029-06-01T00:00:00.000Z',
    source: 'file',
  });
  for (const attempt of [
    () => definitions.update(ann, 'triage', { name: 'x' }),
    () => definitions.publish(ann, 'triage'),
    () => definitions.archive(ann, 'triage'),
    () => definitions.remove(ann, 'triage', oneOf(7)),
  ]) {
    await t.throwsAsync(attempt, { code: 'workflow.read-only' }, String(attempt));
  }
  t.is((await definitions.versions(ann, 'triage', { limit: 9, offset: 0 })).total, 0);
  const version = await definitions.resolve('acme', 'triage');
  t.like(version, { definitionId: 'triage', version: 1 });
  t.deepEqual(await definitions.resolve('acme', 'triage'), version);
  t.not((await definitions.resolve('other', 'triage')).id, version.id, 'versions belong to tenants');
  t.like(await definitions.version(ann, 'triage', 1), { id: version.id, published_by: 'deployment' });
});

test('a workflow of agents.d that waits for the node type of a plugin starts once the type is there', async (t) => {
  const { definitions, types } = started(graphOf('acme/translate', { text: 'Hi' }));
  t.is((await definitions.get(ann, 'triage')).status, 'draft');
  const refused = await t.throwsAsync(definitions.resolve('acme', 'triage'), {
    code: 'workflow.not-published',
  });
  t.regex(refused!.message, /acme\/translate/);
  types.plugins.push(pluginType());
  t.is((await definitions.resolve('acme', 'triage')).version, 1);
  t.is((await definitions.get(ann, 'triage')).status, 'published');
  types.plugins.pop();
  t.is(
    (await definitions.resolve('acme', 'triage')).version,
    1,
    'once it ran, its steps say what is missing',
  );
});

test('who may write a graph reads it as it was written; others read it without credentials', async (t) => {
  const { definitions } = started(asking(`Use ${KEY}`));
  const headers = { Authorization: 'Bearer hunter2', Accept: 'text/plain' };
  const graph = graphOf('service_task', {
    url: 'https://api.example.com/',
    headers,
    body: { note: `key ${KEY}` },
  });
  const { id } = await definitions.create(ann, content(graph));
  t.deepEqual((await definitions.get(ann, id)).graph, graph);
  const round = await definitions.update(ann, id, await definitions.get(ann, id));
  t.deepEqual(round.graph, graph);
  const published = await definitions.publish(reader, id);

  const shown = [
    (await definitions.get(reader, id)).graph,
    (await definitions.list(reader, { limit: 1, offset: 0 })).definitions[0]?.graph,
    published.graph,
    (await definitions.version(reader, id, 1)).graph,
    (await definitions.versions(reader, id, { limit: 1, offset: 0 })).versions[0]?.graph,
    (await definitions.archive(reader, id)).graph,
  ];
  for (const one of shown) {
    const text = JSON.stringify(one);
    t.false(text.includes(KEY) || text.includes('hunter2'), text);
    t.true(text.includes('text/plain') && text.includes('https://api.example.com/'));
  }
  t.deepEqual(
    (await definitions.version(ann, id, 1)).graph as unknown,
    graph,
    'what is stored is what was written',
  );
  const ofFile = JSON.stringify((await definitions.get(ann, 'triage')).graph);
  t.false(ofFile.includes(KEY), 'what is in a file is of the deployment, not of the tenants');
});

test('versions of a file that was removed stay readable, by those whose runs were started from it', async (t) => {
  const memory = memoryDefinitions();
  const types = testTypes();
  const graph = asking(`Use ${KEY}`);
  const file = workflowFile({ name: 'triage', description: '', graph, loadedAt: 0 }, types);
  const parts = { ...memory, types, redactor };
  await createDefinitions({ ...parts, files: memoryFiles(file) }).resolve('acme', 'triage');
  const later = createDefinitions({ ...parts, files: memoryFiles() });
  const page = { limit: 9, offset: 0 };
  const { versions, total } = await later.versions(ann, 'triage', page);
  t.is(total, 1);
  t.deepEqual(await later.version(ann, 'triage', 1), versions[0]!);
  t.false(JSON.stringify(versions).includes(KEY), 'as before it was removed');
  await t.throwsAsync(later.version(ann, 'triage', 2), { code: 'workflow.version-not-found' });
  const unknown = { code: 'workflow.definition-not-found' };
  await t.throwsAsync(later.get(ann, 'triage'), unknown);
  await t.throwsAsync(later.versions(stranger, 'triage', page), unknown);
  await t.throwsAsync(later.version(stranger, 'triage', 1), unknown);
});

test('who starts a workflow by an unknown name is told the names that there are', async (t) => {
  const { definitions } = started();
  await t.throwsAsync(definitions.resolve('acme', 'triagge'), {
    code: 'workflow.definition-not-found',
    message: /Did you mean triage\? There are: triage\..*by their id/,
  });
  const types = testTypes();
  const files = Array.from({ length: 23 }, (_, n) =>
    workflowFile({ name: `w${n}`, description: '', graph: asking('Hello'), loadedAt: 0 }, types),
  );
  const parts = { ...memoryDefinitions(), types, redactor };
  const many = createDefinitions({ ...parts, files: memoryFiles(...files) });
  await t.throwsAsync(many.resolve('acme', 'unknown'), {
    message: /There are: w0, w1, .*, w19, and 3 more\./,
  });
  const none = createDefinitions({ ...parts, files: memoryFiles() });
  await t.throwsAsync(none.resolve('acme', 'unknown'), { message: /There are: none\./ });
});

test('more problems than are told are more than were counted', async (t) => {
  const { definitions } = started();
  const nodes = Array.from({ length: 500 }, () => ({ id: 'a.b', type: 'robot', x: 1 }));
  await t.throwsAsync(definitions.create(ann, content({ nodes, edges: [] })), {
    message: /^More than 1,000 rules are broken\./,
  });
  await t.throwsAsync(definitions.create(ann, content(BROKEN)), { message: /^2 rules are broken\./ });
});
