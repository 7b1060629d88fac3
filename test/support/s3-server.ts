import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { ExecutionContext } from 'ava';

/** An S3 server of one test, in a process of its own, with one bucket whose objects are in its memory. */
export interface S3Server {
  readonly port: number;
  /** For `OBJECT_STORE_URL`. */
  readonly url: string;
  /** Uploads in parts that were neither completed nor aborted. */
  uploads(): Promise<number>;
  /** The next write is done, but the connection breaks instead of the answer. */
  loseNextAnswer(): Promise<void>;
  /** The same for the request that ends an upload in parts. */
  loseNextEnd(): Promise<void>;
  /** Takes connections but does nothing. */
  freeze(): void;
  thaw(): void;
  kill(): Promise<void>;
}

const BUCKET = 'test-objects';

/** The only credentials that the server takes; `useS3Credentials` puts them into the environment. */
const ACCESS_KEY = 'S3RVER';

/** Lets the AWS SDK of this process find the server's credentials, and no others of the machine. */
export function useS3Credentials(): void {
  Object.assign(process.env, {
    AWS_ACCESS_KEY_ID: ACCESS_KEY,
    AWS_SECRET_ACCESS_KEY: ACCESS_KEY,
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  });
}

/**
 * Starts a server on a free port of the loopback interface; it ends with the test. `ignoresConditions`: it stores
 * conditional writes without looking at the condition, as older stores do.
 */
export async function startS3Server(
  t: Pick<ExecutionContext, 'teardown'>,
  { ignoresConditions = false }: { ignoresConditions?: boolean } = {},
): Promise<S3Server> {
  const script = path.join(import.meta.dirname, 's3-server-process.ts');
  // s3rver enciphers continuation tokens with DES.
  const args = [
    '--openssl-legacy-provider',
    script,
    BUCKET,
    ...(ignoresConditions ? ['ignore-conditions'] : []),
  ];
  const server = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  t.teardown(() => kill(server));
  const port = await firstLine(server);
  const test = (route: string, method: string) =>
    fetch(`http://127.0.0.1:${port}/_test/${route}`, { method });
  return {
    port: Number(port),
    url: `s3://${BUCKET}?endpoint=http://127.0.0.1:${port}`,
    uploads: async () => Number(await (await test('uploads', 'GET')).text()),
    loseNextAnswer: async () => void (await test('lose-answer', 'POST')),
    loseNextEnd: async () => void (await test('lose-end', 'POST')),
    freeze: () => server.kill('SIGSTOP'),
    thaw: () => server.kill('SIGCONT'),
    kill: () => kill(server),
  };
}

async function firstLine(server: ChildProcess): Promise<string> {
  const lines = createInterface({ input: server.stdout as NonNullable<ChildProcess['stdout']> });
  const ended = once(server, 'exit').then(() => Promise.reject(new Error('the S3 server did not start')));
  const [line] = (await Promise.race([once(lines, 'line'), ended])) as string[];
  ended.catch(() => {});
  return line as string;
}

async function kill(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exited = once(server, 'exit');
  server.kill('SIGKILL');
  await exited;
}
