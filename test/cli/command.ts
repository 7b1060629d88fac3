import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import type { Outcome } from '../../cli/outcome.ts';
import { Semaphore } from '../../foundation/base/semaphore.ts';
import type { Asked } from './command-host.ts';

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

const turns = new Semaphore(1);
let host: ChildProcess | undefined;

/**
 * What `check`, `openapi` or `plugins` finds, in a process that the commands of these tests share: to load the gateway
 * takes ten times as long as most of what they do. What only a process of its own shows (how it ends, what it reads and
 * writes, which Node it finds) is for `run`.
 */
export function outcomeOf(
  folder: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  return turns.run(async () => {
    host ??= startHost();
    const asked: Asked = { folder, args, env: { PATH: USERS_PATH, ...env } };
    const { code, out, err } = await answered(host, asked);
    return { code, stdout: out, stderr: err };
  });
}

function startHost(): ChildProcess {
  const started = fork(path.join(import.meta.dirname, 'command-host.ts'), {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  started.unref();
  return started;
}

/** The tests wait for it while it is at work, and it ends with them. */
async function answered(child: ChildProcess, asked: Asked): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
  const lost = (code: number | null) => {
    host = undefined;
    reject(new Error(`the process of the commands ended with ${code}`));
  };
  child.once('message', (outcome) => resolve(outcome as Outcome)).once('exit', lost);
  child.channel?.ref();
  child.send(asked);
  try {
    return await promise;
  } finally {
    child.off('exit', lost).channel?.unref();
  }
}
