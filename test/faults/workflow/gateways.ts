import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { deploymentOf } from '../../../testing/start-test-gateway.ts';
import type { FreshDatabase } from '../../support/databases.ts';
import { send } from '../../support/request.ts';
import type { Client } from '../../support/workflow-story.ts';
import type { FromGateways, Place, ToGateways } from './gateways-process.ts';
import type { Stop } from './write-boundaries.ts';

const PROCESS = fileURLToPath(new URL('./gateways-process.ts', import.meta.url));
/** How long a start may take on a busy machine. */
const START_DEADLINE_MS = 120_000;

/** Gateways in one process of their own. */
export interface Gateways {
  /** One for each tenant, in the order of their places. */
  readonly clients: readonly Client[];
  /** The places, with the keys that were made there: to start the gateways again. */
  readonly places: readonly Place[];
  /** Runs that stand still, with the boundary at which they do. */
  readonly standing: ReadonlyMap<string, string>;
  stopAt(stops: readonly Stop[]): Promise<void>;
  /** The boundaries that a run has met. */
  met(marker: string): Promise<readonly string[]>;
  /** kill -9. Resolves when the process is gone. */
  kill(): Promise<void>;
}

/** The variables of a gateway over a database, with workflows that are taken over soon. */
export function environmentOf(
  { environment }: FreshDatabase,
  folder: string,
  env: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  return {
    SVC_HOST: '127.0.0.1',
    SAAS_API_PORT: '0',
    SVC_RUNTIME_ADDR: '127.0.0.1:0',
    HUB_ADDR: '127.0.0.1:0',
    SVC_GRPC_ADDR: '127.0.0.1:0',
    SVC_DATA_DIR: path.join(folder, 'data'),
    SVC_CONFIG: path.join(folder, 'gateway.yaml'),
    SVC_AGENTS_DIR: path.join(folder, 'agents.d'),
    SVC_SECRETS_DIR: path.join(folder, 'secrets'),
    SVC_DEPLOYMENT: deploymentOf(environment.DATABASE_URL ?? folder),
    SVC_PLUGINS: 'records,agent-engine,workflow',
    OBJECT_STORE_URL: 'none',
    LOG_LEVEL: 'error',
    WORKFLOW_LEASE: '2s',
    WORKFLOW_SWEEP_INTERVAL: '300ms',
    ...environment,
    ...env,
  };
}

/**
 * Starts them and waits until they answer. The process ends with the test.
 *
 * @param stops of runs that are there already, and go on as soon as the gateways are there
 */
export async function startGateways(
  t: ExecutionContext,
  places: readonly Place[],
  stops: readonly Stop[] = [],
): Promise<Gateways> {
  const child = fork(PROCESS, { execArgv: [], stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  let output = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-20_000);
    });
  }
  const ended = once(child, 'close');
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  t.teardown(kill);
  const standing = new Map<string, string>();
  child.on('message', (message: FromGateways) => {
    if (message.type === 'standing') standing.set(message.marker, message.boundary);
  });
  const ask = <T extends FromGateways['type']>(message: ToGateways, type: T) =>
    Promise.race([
      answerOf(child, message, type),
      ended.then((): never => {
        throw new Error(`the gateways ended: ${output}`);
      }),
    ]);
  const stopAt = async (some: readonly Stop[]) => {
    await ask({ type: 'stop-at', stops: some }, 'watching');
  };
  await stopAt(stops);
  const ready = await ask({ type: 'start', places }, 'ready');
  return {
    clients: ready.places.flatMap(({ url, tokens }) =>
      tokens.map(
        (token): Client =>
          (where, request = {}) =>
            send(`${url}${where}`, { token, ...request }),
      ),
    ),
    places: places.map((place, index) => ({ ...place, tokens: ready.places[index]!.tokens })),
    standing,
    stopAt,
    met: async (marker) => (await ask({ type: 'met', marker }, 'met')).boundaries,
    kill,
  };
}

function answerOf<T extends FromGateways['type']>(child: ChildProcess, message: ToGateways, type: T) {
  return new Promise<Extract<FromGateways, { readonly type: T }>>((resolve, reject) => {
    const overdue = () => reject(new Error(`no answer to ${message.type} within ${START_DEADLINE_MS} ms`));
    const timer = setTimeout(overdue, START_DEADLINE_MS);
    const listen = (answer: FromGateways) => {
      if (answer.type !== type) return;
      clearTimeout(timer);
      child.off('message', listen);
      resolve(answer as Extract<FromGateways, { readonly type: T }>);
    };
    child.on('message', listen);
    child.send(message);
  });
}
