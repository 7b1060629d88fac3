import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import pino from 'pino';
import { systemClock } from '../../../../../foundation/base/clock.ts';
import { openResources } from '../../../../../foundation/resources/open-resources.ts';
import {
  type AgentDefinition,
  agentKind,
  MAX_AGENTS,
} from '../../../../../plugins/agent-engine/services/loop/agent-resource.ts';

const log = pino({ enabled: false });
const EXAMPLES = path.resolve(import.meta.dirname, '../../../../../agents.d/agents.yaml');

async function started(t: ExecutionContext) {
  const folder = await mkdtemp(path.join(tmpdir(), 'agents-'));
  const watch = () => ({ on: () => undefined, close: () => undefined }) as never;
  const resources = await openResources({ folder, clock: systemClock, log, watch });
  const registration = resources.register<AgentDefinition>(agentKind(), { plugin: 'agent-engine', log });
  (await resources.prepare([registration])).publish();
  t.teardown(async () => {
    await resources.close();
    await rm(folder, { recursive: true });
  });
  const put = async (specs: Record<string, object>) => {
    const documents = Object.entries(specs).map(([name, spec]) =>
      JSON.stringify({
        apiVersion: 'svc/v1',
        kind: 'Agent',
        metadata: { name, description: `About ${name}` },
        spec: { type: 'chat_model_agent', ...spec },
      }),
    );
    await writeFile(path.join(folder, 'agents.yaml'), documents.join('\n---\n'));
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
  return { put, problems, view: registration.view, resources, folder };
}

test('an agent is plain JSON, with its sub-agents in it', async (t) => {
  const { put, view } = await started(t);
  await put({
    boss: {
      type: 'supervisor',
      model: { primary: 'big' },
      sub_agents: [{ ref: 'helper', role: 'Helps' }, { ref: 'other' }],
    },
    helper: {
      system_prompt: 'Help.',
      tools: [{ ref: 'builtin/calculator' }, { ref: 'mcp://search/*', requires_approval: true }],
      max_iterations: 7,
      evolution: {
        enabled: true,
        collect: ['tool_error'],
        advise: { min_confidence: 0.5, max_suggestions: 3 },
      },
    },
    other: {},
  });
  const boss = view.get('boss');
  t.deepEqual(JSON.parse(JSON.stringify(boss)), {
    name: 'boss',
    description: 'About boss',
    type: 'supervisor',
    model: 'big',
    tools: [],
    subAgents: [
      {
        role: 'Helps',
        agent: {
          name: 'helper',
          description: 'About helper',
          type: 'chat_model_agent',
          systemPrompt: 'Help.',
          tools: [
            { ref: 'builtin/calculator', requiresApproval: false },
            { ref: 'mcp://search/*', requiresApproval: true },
          ],
          subAgents: [],
          maxIterations: 7,
          evolution: { collect: ['tool_error'], minConfidence: 0.5, maxSuggestions: 3 },
        },
      },
      {
        role: 'About other',
        agent: {
          name: 'other',
          description: 'About other',
          type: 'chat_model_agent',
          tools: [],
          subAgents: [],
        },
      },
    ],
  });
});

test('a supervisor changes with its sub-agents, and who holds the old version keeps it', async (t) => {
  const { put, view } = await started(t);
  const boss = { type: 'supervisor', sub_agents: [{ ref: 'helper' }] };
  await put({ boss, helper: { system_prompt: 'Old.' } });
  using lease = view.acquire('boss')!;
  await put({ boss, helper: { system_prompt: 'New.' } });
  t.is(view.get('boss')?.subAgents[0]?.agent.systemPrompt, 'New.');
  t.is(lease.value.subAgents[0]?.agent.systemPrompt, 'Old.');
});

for (const { title, spec, told } of [
  {
    title: 'a text that is no name of a tool',
    spec: { tools: [{ ref: 'calculator' }, { ref: 'mcp://x' }] },
    told: [
      '/spec/tools/0/ref: is no name of a tool; write',
      '/spec/tools/1/ref: is no name of a tool; write',
    ],
  },
  {
    title: 'a tool that is named twice',
    spec: { tools: [{ ref: 'builtin/a' }, { ref: 'builtin/a', requires_approval: true }] },
    told: ['/spec/tools/1/ref: is named twice'],
  },
  {
    title: 'sub-agents of an agent that is no supervisor',
    spec: { sub_agents: [{ ref: 'helper' }] },
    told: ['/spec/sub_agents: is for the type supervisor alone'],
  },
  {
    title: 'a supervisor of nobody',
    spec: { type: 'supervisor' },
    told: ['/spec: a supervisor needs at least one sub-agent'],
  },
  {
    title: 'an agent that leads itself',
    spec: { type: 'supervisor', sub_agents: [{ ref: 'bad' }] },
    told: ['/spec/sub_agents/0/ref: is this agent itself'],
  },
  {
    title: 'a sub-agent that is not there',
    spec: { type: 'supervisor', sub_agents: [{ ref: 'nobody' }] },
    told: ['/spec/sub_agents/0/ref: '],
  },
  { title: 'more than 50 iterations', spec: { max_iterations: 51 }, told: ['/spec/max_iterations: '] },
  { title: 'an unknown type', spec: { type: 'robot' }, told: ['/spec/type: '] },
  { title: 'an unknown member', spec: { system_promt: 'x' }, told: ['/spec/system_promt: '] },
  {
    title: 'an unknown signal',
    spec: { evolution: { collect: ['all'] } },
    told: ['/spec/evolution/collect/0: '],
  },
]) {
  test(`${title} is refused with its place`, async (t) => {
    const { put, problems, view } = await started(t);
    await put({ bad: spec, helper: {} });
    const found = problems();
    t.is(found.length, told.length, found.join('\n'));
    for (const [index, text] of told.entries()) t.true(found[index]?.startsWith(`bad ${text}`), found[index]);
    t.is(view.get('bad'), undefined);
    t.not(view.get('helper'), undefined);
  });
}

test('agents that lead each other in a circle are refused, and the way around is told', async (t) => {
  const { put, problems, view } = await started(t);
  const leads = (...names: string[]) => ({ type: 'supervisor', sub_agents: names.map((ref) => ({ ref })) });
  await put({ a: leads('b'), b: leads('c'), c: leads('a'), d: {} });
  t.true(problems().every((text) => text.includes('closes a circle')));
  t.deepEqual(
    view.list().map(({ name }) => name),
    ['d'],
  );
});

test('a hierarchy that multiplies is refused', async (t) => {
  const { put, problems } = await started(t);
  const leads = (...names: string[]) => ({ type: 'supervisor', sub_agents: names.map((ref) => ({ ref })) });
  const fan = Array.from({ length: 8 }, (_, n) => `leaf-${n}`);
  await put({
    ...Object.fromEntries(fan.map((name) => [name, {}])),
    m1: leads(...fan),
    m2: leads(...fan),
    m3: leads(...fan),
    top: leads('m1', 'm2', 'm3'),
    more: leads('top', 'm1'),
  });
  t.deepEqual(problems(), [
    `more /spec/sub_agents: leads to 37 agents in all; ${MAX_AGENTS - 1} are the most`,
  ]);
});

test('the examples of agents.d are without a problem', async (t) => {
  const { problems, view, resources, folder } = await started(t);
  await copyFile(EXAMPLES, path.join(folder, 'agents.yaml'));
  await resources.reload();
  t.deepEqual(problems(), []);
  t.deepEqual(
    view.list().map(({ name }) => name),
    ['assistant', 'researcher', 'team'],
  );
});
