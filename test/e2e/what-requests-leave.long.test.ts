import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { grpcClient } from '../../testing/grpc-client.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { freePort } from '../support/free-port.ts';
import {
  ACP_TOKEN,
  type GatewayProcess,
  startGatewayProcess,
  temporaryFolder,
} from '../support/gateway-process.ts';
import type { PlainResponse } from '../support/request.ts';
import { chosen } from '../support/sample.ts';
import { until } from '../support/until.ts';

const OBSERVER = fileURLToPath(new URL('./old-generation.ts', import.meta.url));

interface OldGeneration {
  readonly bytes: number;
  readonly collections: number;
}

/** So that everything is compiled, and what is kept for later requests is there. */
const WARM_UP = 2_000;
/** A measurement counts when no full collection fell into it, which hides what requests leave. */
const MEASURED = 2;
const ATTEMPTS = 8;

interface Kind {
  readonly title: string;
  readonly count: number;
  /** Bytes of a request. */
  readonly most: number;
  readonly plugins: string;
  /** Gives what sends one request, and throws for one that fails. */
  sender(t: ExecutionContext, gateway: GatewayProcess, grpcAddress: string): () => Promise<unknown>;
}

/*
 * What a request needs is short-lived, and is freed by the frequent and cheap collections of the young generation. One
 * object of it that is in the old generation (CONTRIBUTING.md says how that happens) keeps all of it until the next
 * full collection. The bounds are below what one of those ways left: of a small request and of a chat 1,850 with plain
 * Maps for leases alone, of a turn of an agent 7,000 with a generator function for each, of a call of gRPC 9,600 with
 * the listeners of its stream.
 */
const KINDS: readonly Kind[] = [
  {
    title: 'a small request',
    count: 3_000,
    most: 1_400,
    plugins: 'platform',
    sender: (_, gateway) => async () => sound(await gateway.request('/v1/me')),
  },
  {
    title: 'a chat',
    count: 1_000,
    most: 1_400,
    plugins: 'platform',
    sender: (_, gateway) => () => post(gateway, '/v1/chat/completions', { model: 'default', messages: SAID }),
  },
  {
    title: 'a turn of an agent',
    count: 800,
    most: 2_500,
    plugins: 'platform,runtime',
    sender: (_, gateway) => () =>
      post(gateway, '/api/v2/chat/stream', { agent_id: 'assistant', message: 'Hello' }),
  },
  {
    title: 'a chat over gRPC',
    count: 800,
    most: 6_000,
    plugins: 'platform,runtime',
    sender(t, _, address) {
      const client = grpcClient(address, {
        proto: new URL('svc/conversation/v1/conversation.proto', PROTOS),
        service: 'svc.conversation.v1.ConversationService',
        token: ACP_TOKEN,
      });
      t.teardown(() => client.close());
      return async () => {
        const { code, details } = await client.call('Chat', {
          message: 'Hello',
          extra: { agent_name: 'assistant' },
        });
        if (code !== 'OK') throw new Error(details);
      };
    },
  },
];

const PROTOS = new URL('../../plugins/runtime/proto/', import.meta.url);
const SAID = [{ role: 'user', content: 'Hello' }];
const ASSISTANT = `
apiVersion: svc/v1
kind: Agent
metadata: { name: assistant, description: Answers }
spec: { type: chat_model_agent, model: { primary: default }, system_prompt: You answer. }
`;

function sound(answer: PlainResponse): PlainResponse {
  if (answer.status >= 300) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer;
}

async function post(gateway: GatewayProcess, where: string, body: object): Promise<PlainResponse> {
  return sound(await gateway.request(where, { method: 'POST', body }));
}

// One at a time: each keeps a gateway busy.
for (const { title, count, most, plugins, sender } of chosen('what requests leave', KINDS, 2))
  test.serial(`${title} leaves next to nothing in the old generation`, async (t) => {
    t.timeout(180_000);
    // The demo model makes pauses in its streams.
    const provider = await startFakeProvider();
    t.teardown(() => provider[Symbol.asyncDispose]());
    const folder = await temporaryFolder(t);
    await mkdir(path.join(folder, 'agents.d'));
    await writeFile(path.join(folder, 'agents.d', 'agents.yaml'), ASSISTANT);
    const file = path.join(folder, 'old-generation.json');
    const grpcAddress = `127.0.0.1:${await freePort()}`;
    const gateway = await startGatewayProcess(t, folder, {
      SVC_PLUGINS: plugins,
      SVC_GRPC_ADDR: grpcAddress,
      LLM_API_URL: provider.url,
      LLM_MODEL: 'fake',
      NODE_ENV: 'production',
      OLD_GENERATION_FILE: file,
      NODE_OPTIONS: `--max-semi-space-size=16 --import ${OBSERVER}`,
    });
    const limits = { rate_limit_rpm: 1_000_000, max_sessions: 1_000 };
    const room = await gateway.request('/v1/tenants/00000000-0000-0000-0000-000000000001', {
      method: 'PUT',
      body: limits,
    });
    t.is(room.status, 200);
    const send = sender(t, gateway, grpcAddress);
    async function load(count: number): Promise<void> {
      let left = count;
      const lane = async () => {
        while (left-- > 0) await send();
      };
      await Promise.all(Array.from({ length: 8 }, lane));
    }
    async function oldGeneration(): Promise<OldGeneration> {
      await rm(file, { force: true });
      gateway.kill('SIGUSR2');
      await until(() => existsSync(file), 10_000);
      return JSON.parse(await readFile(file, 'utf8'));
    }
    await load(Math.min(WARM_UP, 3 * count));
    const left: number[] = [];
    for (let attempt = 0; attempt < ATTEMPTS && left.length < MEASURED; attempt += 1) {
      const before = await oldGeneration();
      await load(count);
      const after = await oldGeneration();
      if (after.collections === before.collections) left.push((after.bytes - before.bytes) / count);
    }
    t.log(`bytes a request: ${left.map(Math.round).join(', ')}`);
    t.true(Math.min(...left) < most, `${left.map(Math.round)} bytes a request`);
  });
