import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { openResources } from '../../../../../foundation/resources/open-resources.ts';
import type { Graph } from '../../../../../plugins/workflow/contract/graph.ts';
import {
  type WorkflowFile,
  workflowKind,
} from '../../../../../plugins/workflow/services/definitions/workflow-resource.ts';
import { manualClock } from '../../../../../testing/index.ts';
import { asking, graphOf, pluginType, testTypes } from './graphs.ts';

const log = pino({ enabled: false });
const EXAMPLES = path.resolve(import.meta.dirname, '../../../../../agents.d/workflows.yaml');
const NOW = Date.UTC(2030, 0, 1);

async function started(t: ExecutionContext) {
  const types = testTypes();
  const folder = await mkdtemp(path.join(tmpdir(), 'workflows-'));
  const watch = () => ({ on: () => undefined, close: () => undefined }) as never;
  const resources = await openResources({ folder, clock: systemClock, log, watch });
  const kind = workflowKind({ types, clock: manualClock(NOW) });
  const registration = resources.register<WorkflowFile>(kind, { plugin: 'workflow', log });
  (await resources.prepare([registration])).publish();
  t.teardown(async () => {
    await resources.close();
    await rm(folder, { recursive: true });
  });
  const put = async (graphs: Record<string, unknown>) => {
    const documents = Object.entries(graphs).map(([name, graph]) =>
      JSON.stringify({
        apiVersion: 'svc/v1',
        kind: 'Workflow',
        metadata: { name, description: `About ${name}` },
        spec: { graph },
      }),
    );
    await writeFile(path.join(folder, 'workflows.yaml'), documents.join('\n---\n'));
    return resources.reload();
  };
  const problems = () =>
    resources
      .report()
      .files.flatMap(({ documents }) =>
        documents.flatMap(({ name, problems: found }) =>
          found.map(({ pointer, message }) => `${name} ${pointer}: ${message}`),
        ),
      );
  return { put, problems, view: registration.view, resources, folder, types };
}

test('a file is a graph with what people need to know of it', async (t) => {
  const { put, problems, view } = await started(t);
  await put({ greet: asking('Hello') });
  t.deepEqual(problems(), []);
  const file = view.get('greet')!;
  t.like(file, { name: 'greet', description: 'About greet', loadedAt: NOW });
  t.deepEqual(file.graph, asking('Hello'));
  t.deepEqual(file.problems(), []);
});

test('a file that changes is a new workflow, and who holds the old one keeps it', async (t) => {
  const { put, view } = await started(t);
  await put({ greet: asking('Hello') });
  using lease = view.acquire('greet')!;
  await put({ greet: asking('Bye') });
  t.deepEqual(view.get('greet')?.graph, asking('Bye'));
  t.deepEqual(lease.value.graph, asking('Hello'));
});

test('a file that breaks rules is refused with the places of all of them, and the last good one stays', async (t) => {
  const { put, problems, view } = await started(t);
  await put({ greet: asking('Hello') });
  const { nodes, edges } = asking('Hello');
  await put({
    greet: {
      nodes: [
        ...nodes,
        { id: 'lonely', type: 'agent_task', config: { prompt: '{{steps.nobody.output.text}}' } },
      ],
      edges: [...edges, { from: 'work', to: 'nowhere' }],
    },
  });
  const found = problems().map((text) => text.split(':')[0]);
  t.true(found.includes('greet /spec/graph/edges/2/to'), found.join());
  t.true(
    found.some((text) => text?.startsWith('greet /spec/graph/nodes/3')),
    found.join(),
  );
  t.deepEqual(view.get('greet')?.graph, asking('Hello'));
});

for (const { title, graph, at } of [
  { title: 'no graph at all', graph: undefined, at: '/spec/graph' },
  { title: 'a graph that is a list', graph: [], at: '/spec/graph' },
  { title: 'a misspelled member', graph: { ...asking('Hello'), edgse: [] }, at: '/spec/graph/edgse' },
  {
    title: 'a built-in type that does not exist',
    graph: graphOf('agent', {}),
    at: '/spec/graph/nodes/1/type',
  },
  { title: 'a type that no plugin can bring', graph: graphOf('Acme/x', {}), at: '/spec/graph/nodes/1/type' },
  {
    title: 'a task without its prompt',
    graph: graphOf('agent_task', {}),
    at: '/spec/graph/nodes/1/config/prompt',
  },
]) {
  test(`${title} is refused with its place`, async (t) => {
    const { put, problems, view } = await started(t);
    await put({ bad: graph, good: asking('Hello') });
    t.true(
      problems().some((text) => text.startsWith(`bad ${at}: `)),
      problems().join('\n'),
    );
    t.is(view.get('bad'), undefined);
    t.not(view.get('good'), undefined);
  });
}

test('a file whose graph breaks its schema is told every rule that it breaks too', async (t) => {
  const { put, problems } = await started(t);
  const { nodes, edges } = asking('Hello');
  await put({
    '0197a000-0000-7000-8000-00000000ffff': {
      nodes: [...nodes, { id: 'lonely', type: 'agent_task', config: {}, nmae: 'x' }, 7, { type: 'acme/x' }],
      edges: [
        ...edges,
        { from: 'work', to: 'nowhere' },
        { from: 'work', to: 'end', condition: { op: 'eq' } },
      ],
    },
    bad: { nodes: 7 },
    worse: 'graph',
  });
  const places = problems().map((text) => text.slice(text.indexOf(' ') + 1, text.indexOf(': ')));
  t.deepEqual(places, [
    '/spec/graph/nodes/3/nmae',
    '/spec/graph/nodes/4',
    '/spec/graph/nodes/5/id',
    '/spec/graph/edges/3/condition/outcome',
    '/spec/graph/edges/3/condition/field',
    '/spec/graph/edges/3/condition/value',
    '/metadata/name',
    '/spec/graph/nodes/3/config/prompt',
    '/spec/graph/edges/2/to',
    // Two rules, of which neither is of the schema: nothing leads to the node, and nothing away from it.
    '/spec/graph/nodes/3',
    '/spec/graph/nodes/3',
    '/spec/graph/edges',
    '/spec/graph/nodes',
    '/spec/graph',
  ]);
});

test('a name that looks like the id of a definition is refused', async (t) => {
  const { put, problems, view } = await started(t);
  await put({
    '0197a000-0000-7000-8000-00000000ffff': asking('Hello'),
    '0197A000-0000-7000-8000-00000000FFFF': asking('Hello'),
    '0197a000-0000-7000-8000-00000000fff': asking('Hello'),
  });
  t.is(problems().length, 2, problems().join('\n'));
  t.true(problems().every((text) => text.includes('/metadata/name: looks like the id')));
  t.deepEqual(
    view.list().map(({ name }) => name),
    ['0197a000-0000-7000-8000-00000000fff'],
  );
});

test('a file may be there before the plugin of a node, whose configuration is checked when it comes', async (t) => {
  const { put, problems, view, types } = await started(t);
  const translate = graphOf('acme/translate', { text: 'Hi' });
  await put({
    good: translate,
    bad: graphOf('acme/translate', { txet: 'Hi' }),
    worse: {
      ...translate,
      edges: [translate.edges[0], { ...translate.edges[1], condition: { outcome: 'ok' } }],
    },
  });
  t.is(problems().length, 1, 'what does not depend on the plugin is told at once');
  t.true(problems()[0]?.startsWith('worse /spec/graph/edges/1/condition/outcome: '), problems()[0]);
  const problemsOf = (name: string) => view.get(name)!.problems();
  t.deepEqual(
    problemsOf('good').map(({ code, pointer }) => [code, pointer]),
    [['workflow.graph.node-type', '/nodes/1/type']],
  );
  types.plugins.push(pluginType());
  t.deepEqual(problemsOf('good'), []);
  t.true(problemsOf('bad').some(({ pointer }) => pointer === '/nodes/1/config/txet'));
});

test('a plugin that is there when a file is read checks its nodes at once', async (t) => {
  const { put, problems, types } = await started(t);
  types.plugins.push(pluginType());
  await put({
    good: graphOf('acme/translate', { text: 'Hi' }),
    bad: graphOf('acme/translate', { txet: 'Hi' }),
  });
  t.true(problems().length > 0);
  t.true(
    problems().every((text) => text.startsWith('bad /spec/graph/nodes/1/config/')),
    problems().join('\n'),
  );
});

test('the examples of agents.d are without a problem', async (t) => {
  const { problems, view, resources, folder } = await started(t);
  await copyFile(EXAMPLES, path.join(folder, 'workflows.yaml'));
  await resources.reload();
  t.deepEqual(problems(), []);
  t.deepEqual(
    view.list().map(({ name, value }) => [name, value.problems()]),
    [
      ['approval', []],
      ['triage', []],
    ],
  );
  const outcomes = ({ edges }: Graph) =>
    edges.flatMap(({ condition }) =>
      condition !== undefined && 'outcome' in condition ? [condition.outcome] : [],
    );
  t.deepEqual(outcomes(view.get('approval')!.graph), ['approved', 'rejected', 'timeout']);
});
