import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import { Semaphore } from '../../foundation/base/semaphore.ts';

export const ROOT = path.resolve(import.meta.dirname, '../..');
const COMMAND = path.join(ROOT, 'cli/saas-api');

/** What a command left. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The `PATH` of a user, without what npm adds to it: the node of the machine may be any. */
export const USERS_PATH = (process.env.PATH ?? '')
  .split(':')
  .filter((folder) => !folder.includes('node_modules'))
  .join(':');

/** Commands at one time: more would only wait for each other's processor. */
const places = new Semaphore(2);

/** Runs the command in a folder, as a user types it. It sees these variables alone, and ends with the test. */
export function run(
  t: ExecutionContext,
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  command = COMMAND,
): Promise<Ran> {
  return places.run(() => runNow(t, folder, args, env, command));
}

async function runNow(
  t: ExecutionContext,
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  command: string,
): Promise<Ran> {
  const child = spawn(command, args, {
    cwd: folder,
    env: { PATH: USERS_PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const ended = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
}
