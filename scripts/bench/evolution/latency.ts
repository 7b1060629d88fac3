import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { giveRoom, TOKEN } from '../gateway.ts';
import { startWorldGateway, yamlOf } from './gateway-run.ts';
import { startModel } from './model.ts';
import { createWorld, TOOLS } from './world.ts';

const CHATS = 3_000;
/** The first ones warm up. */
const WARM = 300;
/**
 * Milliseconds between two chats of one gateway, whether the earlier ones are answered or not: about a quarter of the
 * rate that it can serve.
 */
const PACE_MS = 10;

/** Milliseconds of chats. */
export interface Latency {
  readonly p50: number;
  readonly p99: number;
}

/** Chats of an agent with a tool call each, with evolution and its usual settings, and without, at the same time. */
export async function measureLatency(): Promise<{ readonly on: Latency; readonly off: Latency }> {
  const model = await startModel(() => ({ name: TOOLS[0], works: true }));
  const gateways = [await start(model.url, true), await start(model.url, false)] as const;
  try {
    const { tasks } = createWorld(1, CHATS, undefined);
    const begun = performance.now();
    const chats = tasks.flatMap(({ text, id }, n) =>
      gateways.map(async (gateway, which) => {
        const due = begun + (n + which / gateways.length) * PACE_MS;
        await pause(Math.max(0, due - performance.now()));
        await gateway.chat(text, `s${id}`);
      }),
    );
    await Promise.all(chats);
    const [on, off] = gateways.map(({ times }) => latencyOf(times.slice(WARM)));
    return { on: on!, off: off! };
  } finally {
    await Promise.all(gateways.map((gateway) => gateway.stop()));
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
