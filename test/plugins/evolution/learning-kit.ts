import type { ExecutionContext } from 'ava';
import { type Tool, ToolsPoint } from '../../../plugins/agent-engine/contract.ts';
import { ADVICE_BEGINS, ADVICE_ENDS } from '../../../plugins/evolution/rules/advice-block.ts';
import { TaskTable } from '../../../plugins/evolution/store/tables.ts';
import {
  bundledPlugins,
  type FakeModelRequest,
  fakeModel,
  startTestGateway,
} from '../../../testing/index.ts';
import { testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';

/** Tools of the world: `good` works, `bad` fails. */
export const TOOLS = { good: 'plugin/world/good', bad: 'plugin/world/bad' } as const;

const agentYaml = (evolution: string) => `apiVersion: svc/v1
kind: Agent
metadata: {name: clerk}
spec:
  type: chat_model_agent
  system_prompt: You are a clerk.
  tools: [{ref: plugin/world/good}, {ref: plugin/world/bad}]
  evolution: ${evolution}
`;

/**
 * A gateway with an agent that learns. The model calls the tool that the message names in brackets, as in
 * `find the invoice [bad]`, and then answers.
 */
export async function startLearner(
  t: ExecutionContext,
  options: { readonly env?: Readonly<Record<string, string>>; readonly evolution?: string } = {},
) {
  const { env = {}, evolution = '{enabled: true}' } = options;
  const model = fakeModel((request) => {
    const last = request.messages.at(-1)!;
    const name = /\[(\w+)\]/.exec(last.role === 'user' ? `${last.content}` : '')?.[1];
    return name === undefined ? 'Done.' : { calls: [{ name }] };
  });
  const world = testPlugin('world', {
    setup(scope) {
      const tool = (name: 'good' | 'bad'): Tool => ({
        ref: TOOLS[name],
        name,
        description: `Does ${name}`,
        parameters: { type: 'object' },
        invoke: async () => ({ content: name, isError: name === 'bad' }),
      });
      scope.contribute(ToolsPoint, { prefix: 'plugin/world/', list: () => [tool('good'), tool('bad')] });
    },
  });
  const gateway = await startTestGateway({
    plugins: [...(await bundledPlugins()), world],
    model,
    env: { EVOLUTION_ENABLED: 'true', EVOLUTION_DISTILL_INTERVAL: '100ms', EVOLUTION_HOLDOUT: '0', ...env },
  });
  t.teardown(gateway.stop);
  await gateway.gateway.services.resources.write('clerk.yaml', agentYaml(evolution));
  const { database } = gateway.gateway.services;

  const chat = async (
    message: string,
    { session, token, taskClass }: { session?: string; token?: string; taskClass?: string } = {},
  ): Promise<FakeModelRequest> => {
    const from = model.requests.length;
    const answer = await fetch(new URL('/api/v2/chat/stream', gateway.url), {
      method: 'POST',
      body: JSON.stringify({
        agent_id: 'clerk',
        message,
        ...(session === undefined ? {} : { session_id: session }),
      }),
      headers: {
        authorization: `Bearer ${token ?? gateway.token}`,
        'content-type': 'application/json',
        ...(taskClass === undefined ? {} : { 'x-svc-task-class': taskClass }),
      },
    });
    const events = await answer.text();
    t.is(answer.status, 200, events);
    return model.requests[from]!;
  };

  return {
    gateway: gateway.gateway,
    model,
    chat,
    database,
    url: gateway.url,
    request: gateway.request.bind(gateway),
    makeTenant: gateway.makeTenant.bind(gateway),
    /** Resolves when so many runs of a tenant are recorded, and all of them are in genes. */
    distilled: (tenantId: string, tasks: number) =>
      until(async () => {
        const entities = database.forTenant(tenantId);
        const counted = await entities.count(TaskTable, { isCounted: true });
        return counted >= tasks && (await entities.count(TaskTable, { isCounted: false })) === 0;
      }),
  };
}

/** The lines of the advice in a prompt. */
export function adviceIn({ messages }: FakeModelRequest): readonly string[] {
  const prompt = messages
    .filter(({ role }) => role === 'system')
    .map(({ content }) => `${content}`)
    .join('\n');
  const from = prompt.indexOf(ADVICE_BEGINS);
  if (from < 0) return [];
  return prompt
    .slice(from + ADVICE_BEGINS.length, prompt.indexOf(ADVICE_ENDS, from))
    .trim()
    .split('\n');
}
