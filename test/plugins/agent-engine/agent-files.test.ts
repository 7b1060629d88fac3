import { definePlugin } from 'agent-gateway';
import test from 'ava';
import pino from 'pino';
import { systemClock } from '../../../foundation/base/clock.ts';
import { createIds } from '../../../foundation/base/ids.ts';
import type { Agents } from '../../../plugins/agent-engine/contract.ts';
import { agentKind } from '../../../plugins/agent-engine/services/loop/agent-resource.ts';
import { createAgents } from '../../../plugins/agent-engine/services/loop/create-agents.ts';
import { createArgumentCheck } from '../../../plugins/agent-engine/services/tools/argument-check.ts';
import { builtinTools } from '../../../plugins/agent-engine/services/tools/builtin-tools.ts';
import { createToolCatalog } from '../../../plugins/agent-engine/services/tools/tool-catalog.ts';
import { startTestGateway } from '../../../testing/start-test-gateway.ts';
import {
  calls,
  catalogOf,
  collect,
  context,
  guard,
  memoryReceipts,
  openExperience,
  openGuards,
  says,
  scriptedModels,
  user,
} from './services/loop/fakes.ts';

const FILE = 'team.yaml';
const yaml = (prompt: string) => `apiVersion: svc/v1
kind: Agent
metadata: {name: clerk, description: Counts}
spec:
  type: chat_model_agent
  system_prompt: ${prompt}
  tools: [{ref: builtin/calculator, requires_approval: true}, {ref: builtin/no_such_tool}]
`;

/** A plugin that is the agent engine without models of its own. */
function engine(models: ReturnType<typeof scriptedModels>) {
  const made: { agents?: Agents } = {};
  const plugin = definePlugin({
    name: 'engine',
    summary: 'Agents for a test',
    kernel: '^1.0.0',
    setup(scope) {
      const { clock, egress, database, tracing } = scope.services;
      made.agents = createAgents({
        guard,
        openGuards,
        openExperience,
        tracing,
        clock,
        database,
        ids: createIds(systemClock),
        models: models.models,
        toolCatalog: createToolCatalog({
          sources: () => [builtinTools({ clock, egress })],
          policies: { of: () => ({ allowedTools: null }) as never },
          log: scope.log,
          clock,
        }),
        receipts: memoryReceipts().receipts,
        checkArguments: createArgumentCheck(),
        agents: catalogOf(scope.kind(agentKind())),
      });
    },
  });
  return { made, plugin };
}

test('an agent that is saved into agents.d runs, and a run that waits keeps its definition while the file changes', async (t) => {
  const models = scriptedModels({
    default: [calls(['calculator', { expression: '17 * 23' }]), says('391'), says('Hello')],
  });
  const { made, plugin } = engine(models);
  await using gateway = await startTestGateway({ plugins: [plugin] });
  const { resources } = gateway.gateway.services;
  const agents = made.agents!;
  t.deepEqual(await agents.list('t1'), []);
  await resources.write(FILE, yaml('Count well.'));
  t.deepEqual(await agents.list('t1'), [
    {
      name: 'clerk',
      description: 'Counts',
      type: 'chat_model_agent',
      model: 'default',
      source: 'file',
      subAgents: [],
    },
  ]);

  const ask = {
    agent: 'clerk',
    messages: [user('17 * 23?')],
    pauses: 'allow',
    context: context({ log: pino({ enabled: false }) }),
  } as const;
  const { checkpoint } = (await collect(agents.run(ask))).result;
  t.is(checkpoint?.interrupts[0]?.toolCall?.arguments, '{"expression":"17 * 23"}');
  await resources.write(FILE, yaml('Count no more.').replace(', requires_approval: true', ''));

  const decisions = { [checkpoint!.interrupts[0]!.id]: { decision: 'approve' } as const };
  const { result } = await collect(agents.resume({ checkpoint: checkpoint!, decisions, context: context() }));
  t.deepEqual(
    result.messages.map(({ content }) => content),
    [null, '391', '391'],
  );
  await collect(agents.run(ask));
  t.deepEqual(
    models.requests.map(({ messages }) => messages[0]?.content),
    ['Count well.', 'Count well.', 'Count no more.'],
  );
});
