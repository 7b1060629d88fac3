import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server process of the benchmark. */
export interface Child {
  readonly url: string;
  readonly process: ChildProcess;
  /** CPU time that the process has used so far, in microseconds. */
  cpu(): number;
  /** Resident memory in MiB. */
  memory(): number;
  /** The first group of the first match in what it prints from now on. */
  line(pattern: RegExp): Promise<string>;
  stop(): Promise<void>;
}

/** Microseconds of one tick of /proc/<pid>/stat. */
const TICK = 10_000;

/** An interrupted benchmark leaves no server behind. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

/** Starts `node file` and waits until it listens. */
export function startChild(file: string, env: Record<string, string>): Promise<Child> {
  return startCommand(process.execPath, [file], { env });
}

/** Starts a command and waits for the line `listening <url>`, or the gateway's log line. */
export async function startCommand(
  command: string,
  args: readonly string[],
  options: { readonly env: Record<string, string>; readonly cwd?: string },
): Promise<Child> {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (output.length > 65_536) return;
    output += text;
    // What the benchmark's own servers print, or the gateway's log line.
    const url = /^listening (\S+)|"url":"([^"]+)".*"msg":"ready"/m.exec(output)?.slice(1).find(Boolean);
    if (url !== undefined) resolve(url);
  });
  child.once('exit', (code) =>
    reject(new Error(`${[command, ...args].join(' ')} ended with ${code} before it listened:\n${output}`)),
  );
  const url = await promise;
  return {
    url,
    process: child,
    cpu: () => cpuOf(child.pid!),
    memory: () => memoryOf(child.pid!),
    line: (pattern) =>
      new Promise((found) => {
        let text = '';
        child.stdout.on('data', (part: string) => {
          text += part;
          const match = pattern.exec(text)?.[1];
          if (match !== undefined) found(match);
        });
      }),
    stop: async () => {
      const ended = new Promise((done) => child.once('exit', done));
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Tells the parent where the server listens. */
export function announce(server: Server): void {
  process.stdout.write(`listening http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
}

function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name in parentheses may hold spaces; after it, user and system time are the 12th and 13th fields.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK;
}

function memoryOf(pid: number): number {
  const rss = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(rss) / 1024;
}
