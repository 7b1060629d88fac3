import { fileURLToPath } from 'node:url';
import test from 'ava';
import {
  FEW_PLUGINS,
  type GatewayProcess,
  startGatewayProcess,
  temporaryFolder,
} from '../support/gateway-process.ts';
import { until } from '../support/until.ts';

const OBSERVER = fileURLToPath(new URL('./old-generation.ts', import.meta.url));

interface OldGeneration {
  readonly bytes: number;
  readonly collections: number;
}

/** So that everything is compiled, and what is kept for later requests is there. */
const WARM_UP = 3_000;
/** A measurement counts when no full collection fell into it, which hides what requests leave. */
const MEASURED = 2;
const ATTEMPTS = 8;
/** Bytes of a request: with plain Maps for leases alone a chat left 1,850. */
const MOST = 1_400;

/*
 * What a request needs is short-lived, and is freed by the frequent and cheap collections of the young generation. One
 * object of it that is in the old generation (CONTRIBUTING.md says how that happens) keeps all of it until the next
 * full collection: that was 7 KiB of a `GET /v1/me` and 10 of a chat.
 */
for (const [title, count, send] of [
  ['a small request', 6_000, (gateway: GatewayProcess) => gateway.request('/v1/me')],
  [
    'a chat',
    2_000,
    (gateway: GatewayProcess) =>
      gateway.request('/v1/chat/completions', {
        method: 'POST',
        body: { model: 'default', messages: [{ role: 'user', content: 'Hello' }] },
      }),
  ],
] as const)
  test(`${title} leaves next to nothing in the old generation`, async (t) => {
    t.timeout(180_000);
    const gateway = await startGatewayProcess(t, await temporaryFolder(t), {
      ...FEW_PLUGINS,
      NODE_ENV: 'production',
      NODE_OPTIONS: `--max-semi-space-size=16 --import ${OBSERVER}`,
    });
    const limits = { rate_limit_rpm: 1_000_000, max_sessions: 1_000 };
    const room = await gateway.request('/v1/tenants/00000000-0000-0000-0000-000000000001', {
      method: 'PUT',
      body: limits,
    });
    t.is(room.status, 200);
    async function load(count: number): Promise<void> {
      let left = count;
      const lane = async () => {
        while (left-- > 0) t.is((await send(gateway)).status, 200);
      };
      await Promise.all(Array.from({ length: 8 }, lane));
    }
    async function oldGeneration(): Promise<OldGeneration> {
      const lines = () => gateway.logs().filter(({ msg }) => msg === 'old generation');
      const before = lines().length;
      gateway.kill('SIGUSR2');
      await until(() => lines().length > before, 10_000);
      return lines().at(-1) as unknown as OldGeneration;
    }
    await load(WARM_UP);
    const left: number[] = [];
    for (let attempt = 0; attempt < ATTEMPTS && left.length < MEASURED; attempt += 1) {
      const before = await oldGeneration();
      await load(count);
      const after = await oldGeneration();
      if (after.collections === before.collections) left.push((after.bytes - before.bytes) / count);
    }
    t.log(`bytes a request: ${left.map(Math.round).join(', ')}`);
    t.true(Math.min(...left) < MOST, `${left.map(Math.round)} bytes a request`);
  });
