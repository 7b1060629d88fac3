import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ExecutionContext } from 'ava';
import type { FreshDatabase } from '../support/databases.ts';
import { type GatewayProcess, startGatewayProcess, temporaryFolder } from '../support/gateway-process.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');

/** What a deployment is made of beside its data. */
const CODE = ['node_modules', 'package.json', 'cli', 'kernel', 'foundation', 'plugins', 'testing'];

/** A graph whose jobs wait for a person. */
const BREW = `apiVersion: svc/v1
kind: Workflow
metadata: { name: brew }
spec:
  graph:
    nodes: [{ id: start, type: start }, { id: pour, type: human_task }, { id: end, type: end }]
    edges: [{ from: start, to: pour }, { from: pour, to: end }]
`;

/** A deployment of one test, in a folder of its own. */
export interface Deployment {
  readonly folder: string;
  /** Starts it with the variables of `gateway.env`. */
  start(): Promise<GatewayProcess>;
  /** All but the code is gone, as on a new machine. */
  destroy(): Promise<void>;
}

/** Lays out a deployment with configuration and secrets of its own, over a database that is there. */
export async function layOut(
  t: ExecutionContext,
  variables: Readonly<Record<string, string>>,
): Promise<Deployment> {
  const folder = await temporaryFolder(t);
  for (const name of CODE) await symlink(path.join(ROOT, name), path.join(folder, name));
  const lines = Object.entries(variables).map(([name, value]) => `${name}='${value}'\n`);
  await writeFile(path.join(folder, 'gateway.env'), lines.join(''));
  await writeFile(
    path.join(folder, 'gateway.yaml'),
    'plugins:\n  runtime:\n    config:\n      max_file_size: 5MiB\n',
  );
  await mkdir(path.join(folder, 'agents.d'));
  await writeFile(
    path.join(folder, 'agents.d/keeper.yaml'),
    'apiVersion: svc/v1\nkind: Agent\nmetadata: { name: keeper }\nspec: { type: chat_model_agent }\n',
  );
  await writeFile(path.join(folder, 'agents.d/brew.yaml'), BREW);
  return {
    folder,
    async start() {
      const text = await readFile(path.join(folder, 'gateway.env'), 'utf8');
      const env = Object.fromEntries(
        [...text.matchAll(/^(\w+)='(.*)'$/gm)].map(([, name, value]) => [name, value]),
      );
      // No token of the environment: the one in the data folder has to come back.
      return startGatewayProcess(t, folder, { ...env, SVC_ACP_TOKEN: '' });
    },
    async destroy() {
      for (const name of [
        'data',
        'gateway.env',
        'gateway.yaml',
        'agents.d',
        'jobs.db',
        'jobs.db-wal',
        'jobs.db-shm',
        'backup.cnf',
      ])
        await rm(path.join(folder, name), { recursive: true, force: true });
    },
  };
}

/** A server's database of one test, whose gateway is not its administrator. */
export async function roleFor(t: ExecutionContext, { family, environment, ask }: FreshDatabase) {
  if (family !== 'postgres') return { owner: 'gateway', environment };
  const url = new URL(environment.DATABASE_URL!);
  const name = url.pathname.slice(1);
  const owner = `${name}_owner`;
  const application = `${name}_app`;
  await ask(`create role ${owner} login; create role ${application} nologin; grant ${application} to ${owner};
    alter database ${name} owner to ${owner}; alter schema public owner to ${owner}`);
  t.teardown(async () => {
    const roles = `${owner}, ${application}`;
    await ask(`reassign owned by ${roles} to current_user; drop owned by ${roles}; drop role ${roles}`);
  });
  url.username = owner;
  return { owner, environment: { ...environment, DATABASE_URL: url.href, SVC_DATABASE_ROLE: application } };
}

/** A process that has died with audit records in its journal, beside those of the gateway; their ids. */
export async function leaveRecords(t: ExecutionContext, folder: string) {
  const program = path.join(ROOT, 'test/foundation/audit/recording-process.ts');
  const child = spawn(process.execPath, [program, path.join(folder, 'data/audit')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  let text = '';
  for await (const chunk of child.stdout) {
    text += chunk;
    // It stands still with its journal, which is nobody else's while it lives.
    if (text.split('\n').length > 20) break;
  }
  child.kill('SIGSTOP');
  return {
    ids: text.split('\n').slice(0, 20),
    async die() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
