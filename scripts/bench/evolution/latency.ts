import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { mapLimited } from '../../../foundation/base/semaphore.ts';
import { giveRoom, TOKEN } from '../gateway.ts';
import { startWorldGateway, yamlOf } from './gateway-run.ts';
import { startModel } from './model.ts';
import { createWorld, TOOLS } from './world.ts';

const ROUNDS = 24;
const CHATS = 200;
const CONCURRENCY = 4;

/** Milliseconds of chats. */
export interface Latency {
  readonly p50: number;
  readonly p99: number;
}

/** Chats of an agent with a tool call each, with evolution and its usual settings, and without, in turn; the first round warms up. */
export async function measureLatency(): Promise<{ readonly on: Latency; readonly off: Latency }> {
  const model = await startModel(() => ({ name: TOOLS[0], works: true }));
  const on = await start(model.url, true);
  const off = await start(model.url, false);
  try {
    const { tasks } = createWorld(1, ROUNDS * CHATS, undefined);
    for (let round = 0; round < ROUNDS; round += 1)
      for (const gateway of round % 2 === 0 ? [on, off] : [off, on]) {
        if (round === 1) gateway.times.length = 0;
        await mapLimited(tasks.slice(round * CHATS, (round + 1) * CHATS), CONCURRENCY, ({ text, id }) =>
          gateway.chat(text, `s${id}`),
        );
      }
    return { on: latencyOf(on.times), off: latencyOf(off.times) };
  } finally {
    await Promise.all([on.stop(), off.stop()]);
    model.close();
  }
}

async function start(model: string, isLearning: boolean) {
  const folder = await mkdtemp(path.join(tmpdir(), 'evolution-latency-'));
  await mkdir(path.join(folder, 'agents.d'));
  await writeFile(path.join(folder, 'agents.d', 'clerk.yaml'), yamlOf('clerk'));
  const gateway = await startWorldGateway(folder, model, { EVOLUTION_ENABLED: `${isLearning}` });
  await giveRoom(gateway.url, 1_000_000);
  const times: number[] = [];
  return {
    times,
    async chat(message: string, session: string): Promise<void> {
      const begun = performance.now();
      const answer = await fetch(`${gateway.url}/api/v2/chat/stream`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
        body: JSON.stringify({ agent_id: 'clerk', message, session_id: session }),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`a chat was answered with ${answer.status}: ${text}`);
      times.push(performance.now() - begun);
    },
    async stop(): Promise<void> {
      await gateway.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function latencyOf(times: readonly number[]): Latency {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)]!;
  return { p50: at(0.5), p99: at(0.99) };
}
