import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CozeAPI } from '@coze/api';
import type { ExecutionContext } from 'ava';
import type { TestGateway } from '../../../testing/index.ts';
import type { TestGatewayOptions } from '../../../testing/start-test-gateway.ts';
import { type ProviderScript, startFakeProvider, stream } from '../../support/fake-provider.ts';
import { until } from '../../support/until.ts';
import { startRuntime, toolCalls } from './runtime-gateway.ts';

const AGENTS = `
apiVersion: svc/v1
kind: Agent
metadata: { name: payer, description: Pays }
spec:
  type: chat_model_agent
  system_prompt: You pay.
  tools:
    - { ref: builtin/calculator, requires_approval: true }
    - { ref: builtin/ask_user }
    - { ref: builtin/current_time }
`;

/** A provider that answers in turn; it ends with the test. */
export async function startProvider(t: ExecutionContext, ...scripts: ProviderScript[]) {
  const provider = await startFakeProvider(...scripts);
  t.teardown(() => provider[Symbol.asyncDispose]());
  return provider;
}

/** A gateway with the agent `payer`, which asks the provider, and the SDK as its client. */
export async function startCoze(
  t: ExecutionContext,
  provider: { readonly url: string },
  { env, ...options }: TestGatewayOptions = {},
) {
  const models = { LLM_API_URL: provider.url, LLM_MODEL: 'fake', LLM_MAX_RETRIES: '0' };
  const gateway = await startRuntime(t, { ...options, env: { ...models, ...env } });
  await writeFile(path.join(gateway.folder, 'agents.d', 'agents.yaml'), AGENTS);
  await until(async () => (await gateway.request('/api/v2/agents')).body.agents.length === 1);
  return { gateway, coze: clientOf(gateway) };
}

/** The SDK, with a key of the gateway. */
export const clientOf = ({ url, token }: Pick<TestGateway, 'url' | 'token'>) =>
  new CozeAPI({ baseURL: url, token });

/** All that a stream brings. */
export async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

/** An answer that stops in its middle. */
export const hang = stream(['Wait', ' for me'], { hangAfter: 2 });

/** An answer that calls a tool which needs an approval. */
export const approvalAsked = toolCalls(['calculator', { expression: '6*7' }]);

/** Polls as the SDK does, with an end. */
export async function settled(
  coze: CozeAPI,
  { conversation_id, id }: { conversation_id: string; id: string },
) {
  let chat = await coze.chat.retrieve(conversation_id, id);
  await until(async () => {
    chat = await coze.chat.retrieve(conversation_id, id);
    return chat.status !== 'in_progress';
  });
  return chat;
}
