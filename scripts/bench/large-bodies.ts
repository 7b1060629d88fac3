import { setTimeout as pause } from 'node:timers/promises';
import { request } from 'undici';
import { startCommand } from './child.ts';
import { GATEWAY } from './gateway.ts';

/** Almost as large as a chat may be, most of it an image. */
const BYTES = 16 * 1024 * 1024 - 64 * 1024;
const CHATS = 3;
const SETTLE = 3_000;

/** Resident memory in MiB. */
export interface BodyMemory {
  readonly idle: number;
  /** The maximum while the chats were served. */
  readonly peak: number;
  /** After `rest`. */
  readonly left: number;
}

/**
 * Memory of a gateway of its own, started with the flags of `npm start`: before, during and `rest` milliseconds after
 * three chats of 16 MiB at one time.
 */
export async function measureLargeBodies(env: Record<string, string>, rest: number): Promise<BodyMemory> {
  const gateway = await startCommand(process.execPath, GATEWAY, { env });
  try {
    await pause(SETTLE);
    const idle = gateway.memory();
    let peak = idle;
    const look = setInterval(() => {
      peak = Math.max(peak, gateway.memory());
    }, 20);
    const image = { url: `data:image/png;base64,${'QUJD'.repeat(BYTES / 4)}` };
    const content = [{ type: 'image_url', image_url: image }];
    const body = JSON.stringify({ model: 'default', store: false, messages: [{ role: 'user', content }] });
    const headers = { authorization: `Bearer ${env.SVC_ACP_TOKEN}`, 'content-type': 'application/json' };
    const chat = async () => {
      const url = `${gateway.url}/v1/chat/completions`;
      const answer = await request(url, { method: 'POST', headers, body });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`a large chat answered ${answer.statusCode}: ${text}`);
    };
    await Promise.all(Array.from({ length: CHATS }, chat));
    clearInterval(look);
    await pause(rest);
    return { idle, peak, left: gateway.memory() };
  } finally {
    await gateway.stop();
  }
}
