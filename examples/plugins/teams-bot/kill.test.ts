import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { freshDatabase, testDatabases, until } from 'agent-gateway/testing';
import { SECRET, send } from './teams.ts';

const MESSAGES = 12;

describe('kill -9', { concurrency: true }, () => {
  for (const [name, database] of Object.entries(testDatabases())) {
    test(`each message is answered, whenever the gateway dies (${name})`, async () => {
      await using stack = new AsyncDisposableStack();
      const { env } = stack.use(await freshDatabase(database));
      const heard: string[] = [];
      const callback = createServer(async (request, response) => {
        const chunks = await request.toArray();
        heard.push(JSON.parse(Buffer.concat(chunks).toString()).reply_to);
        response.end();
      }).listen(0, '127.0.0.1');
      stack.defer(() => void callback.close());
      await once(callback, 'listening');
      const agents = await mkdtemp(join(tmpdir(), 'teams-bot-'));
      stack.defer(() => rm(agents, { recursive: true }));
      const hook = await readFile(join(import.meta.dirname, 'agents.d', 'support.yaml'), 'utf8');
      const { port } = callback.address() as AddressInfo;
      const here = `http://127.0.0.1:${port}/callback`;
      await writeFile(join(agents, 'support.yaml'), hook.replace('https://teams.example/callback', here));

      const first = await startChild({ ...env, SVC_AGENTS_DIR: agents });
      const ids = Array.from({ length: MESSAGES }, (_, index) => `m${index}`);
      const sent = await Promise.all(ids.map((id) => send(first.url, id)));
      assert(sent.every(({ status }) => status === 202));
      await until(() => heard.length >= 2, 60_000);
      first.kill();
      const second = await startChild({ ...env, SVC_AGENTS_DIR: agents });
      stack.defer(() => second.kill());
      await until(() => new Set(heard).size === MESSAGES, 120_000);
    });
  }
});

/** Starts `gateway.child.ts`; `kill` is `kill -9`. */
async function startChild(env: Record<string, string>) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'gateway.child.ts')], {
    env: { PATH: process.env.PATH, TEAMS_SECRET: SECRET, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  return { url: String(line).trim(), kill: () => void child.kill('SIGKILL') };
}
