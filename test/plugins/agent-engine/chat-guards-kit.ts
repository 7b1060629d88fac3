import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import {
  type ChatGuard,
  ChatGuardsPoint,
  type GuardedChat,
  type InputText,
  replaceMatches,
} from '../../../plugins/agent-engine/contract.ts';
import agentEngine from '../../../plugins/agent-engine/plugin.ts';
import platform from '../../../plugins/platform/plugin.ts';
import records from '../../../plugins/records/plugin.ts';
import runtime from '../../../plugins/runtime/plugin.ts';
import workflow from '../../../plugins/workflow/plugin.ts';
import { startTestGateway, type TestGatewayOptions } from '../../../testing/index.ts';
import { type ProviderScript, startFakeProvider } from '../../support/fake-provider.ts';
import { testPlugin } from '../../support/plugins.ts';
import { until } from '../../support/until.ts';
import { providerEnv } from '../platform/routes/chat-kit.ts';

const AGENTS = `
apiVersion: svc/v1
kind: Agent
metadata: { name: helper, description: Helps }
spec:
  type: chat_model_agent
  system_prompt: You help.
  tools: [{ ref: builtin/calculator }]
`;

/**
 * A gateway with all that chats, in front of a provider, with these guards of a plugin `acme`; stopped when the test
 * ends.
 */
export async function startGuarded(
  t: ExecutionContext,
  guards: readonly ChatGuard[],
  scripts: readonly ProviderScript[],
  options: Omit<TestGatewayOptions, 'plugins'> = {},
) {
  const provider = await startFakeProvider(...scripts);
  t.teardown(() => provider[Symbol.asyncDispose]());
  const acme = testPlugin('acme', {
    setup(scope) {
      for (const guard of guards) scope.contribute(ChatGuardsPoint, guard);
    },
  });
  const gateway = await startTestGateway({
    ...options,
    env: { OBJECT_STORE_URL: 'none', SVC_ONE_PORT: 'true', ...providerEnv(provider), ...options.env },
    plugins: [records, agentEngine, platform, runtime, workflow, acme],
  });
  t.teardown(gateway.stop);
  await writeFile(path.join(gateway.folder, 'agents.d', 'agents.yaml'), AGENTS);
  await until(async () => (await gateway.request('/api/v2/agents')).body.agents?.length === 1);
  const post = (route: string, body: object, headers = {}) =>
    gateway.request(route, { method: 'POST', body, headers });
  /** What is kept of a session, as text. */
  const stored = async (session: string) => {
    const { body } = await gateway.request(`/api/v2/sessions/${session}/messages`);
    return body.messages.map(({ role, content }: { role: string; content: string }) => `${role}: ${content}`);
  };
  return { gateway, provider, post, stored };
}

/** What a guard of `words` was shown. */
export interface Seen {
  readonly chats: GuardedChat[];
  readonly inputs: (readonly InputText[])[];
}

/** A guard that takes mail addresses out of inputs and `pineapple` out of all parts of answers. */
export function words(parts: Partial<ChatGuard> = {}): ChatGuard & { readonly seen: Seen } {
  const seen: Seen = { chats: [], inputs: [] };
  return {
    name: 'acme.words',
    seen,
    open(chat) {
      seen.chats.push(chat);
      return {
        input(texts) {
          seen.inputs.push(texts);
          return { replace: texts.map(({ text }) => text.replaceAll('anna@acme.test', '[mail]')) };
        },
        output: () => replaceMatches(/pineapple/, '[fruit]', 9),
      };
    },
    ...parts,
  };
}

/** A guard whose answers this function looks at. */
export function outputGuard(
  look: ReturnType<typeof replaceMatches>,
  parts: Partial<ChatGuard> = {},
): ChatGuard {
  return {
    name: 'acme.out',
    open: () => ({ output: (part) => (part === 'answer' ? look : undefined) }),
    ...parts,
  };
}

/** The data of an event stream's lines. */
export function dataOf(body: string): readonly string[] {
  return body.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []));
}

/** The text of a streamed chat completion. */
export function textOfStream(body: string): string {
  return dataOf(body)
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data).choices?.[0]?.delta?.content ?? '')
    .join('');
}
