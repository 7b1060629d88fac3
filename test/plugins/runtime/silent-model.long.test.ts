import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import test from 'ava';
import { failure, type ProviderScript, startFakeProvider, stream } from '../../support/fake-provider.ts';
import { open } from '../../support/request.ts';
import { until } from '../../support/until.ts';
import { eventsOf, startRuntime } from './runtime-gateway.ts';

/** Milliseconds for which the model thinks: more than until a stream begins. */
const THINKING = 20_000;

const AGENT = `
apiVersion: svc/v1
kind: Agent
metadata: { name: thinker, description: Thinks }
spec: { type: chat_model_agent, system_prompt: Think. }
`;

for (const [title, then, last] of [
  ['and ends as ever', stream(), 'done'],
  ['and tells what fails as an event', failure(503), 'error'],
] as const satisfies readonly (readonly [string, ProviderScript, string])[])
  test(`a chat of the v2 API begins while the model still thinks, ${title}`, async (t) => {
    let isAnswered = false;
    const provider = await startFakeProvider(async (reply) => {
      await pause(THINKING, undefined, { signal: reply.signal });
      isAnswered = true;
      await then(reply);
    });
    t.teardown(() => provider[Symbol.asyncDispose]());
    const gateway = await startRuntime(t, {
      env: { LLM_API_URL: provider.url, LLM_MODEL: 'fake', LLM_MAX_RETRIES: '0' },
    });
    await writeFile(path.join(gateway.folder, 'agents.d', 'agents.yaml'), AGENT);
    await until(async () => (await gateway.request('/api/v2/agents')).body.agents.length === 1);
    const response = await open(`${gateway.url}/api/v2/chat/stream?a2ui=true`, {
      method: 'POST',
      token: gateway.token,
      body: { agent_id: 'thinker', message: 'Hi' },
    });
    t.false(isAnswered);
    t.is(response.status, 200);
    t.is(eventsOf(await response.text()).at(-1)!.event, last);
  });
