import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

/**
 * The folder of this run of AVA, which starts each of its processes; or of this process, where it cannot be told when
 * AVA began: the id alone may be that of an earlier run.
 */
export function runFolder(): string {
  const began = beginOf(process.ppid);
  const run = began === undefined ? `of-${process.pid}` : `${process.ppid}-${began}`;
  return path.join(tmpdir(), `gateway-run-${run}`);
}

/** In ticks since the machine started; only Linux tells. */
function beginOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // After the name of the program, which may hold spaces and parentheses.
    return text.slice(text.lastIndexOf(')')).split(' ')[20];
  } catch {
    return undefined;
  }
}

/** Things that are dear to make, for the processes of one run. */
export interface RunPool {
  /** What one of them has put there; no other process gets it. */
  take<T>(kind: string): Promise<T | undefined>;
  put(kind: string, thing: object): Promise<void>;
  /** Puts a copy of the file at `target` that `make` makes for the first who asks; of none where it makes none. */
  copy(name: string, target: string, make: (file: string) => Promise<void>): Promise<void>;
  /** The process ends. The last one of the run clears away what is left: it can take all of it. */
  leave(clear: () => Promise<void>): Promise<void>;
}

/**
 * Each thing is a file in the run's folder while nobody uses it. Who renames the file has the thing, so that no process
 * waits for another, and one that is killed takes along only what it had taken.
 *
 * @param pid of the process that joins
 */
export async function joinRun(folder: string, pid = process.pid): Promise<RunPool> {
  await write(folder, `${pid}${MEMBER}`, '');
  return {
    take: async <T>(kind: string) => {
      for (const name of await list(folder, `.${kind}`)) {
        const own = path.join(folder, `${name}.${pid}`);
        if (!(await rename(path.join(folder, name), own).then(() => true, isAbsent))) continue;
        const thing = JSON.parse(await readFile(own, 'utf8')) as T;
        await rm(own);
        return thing;
      }
      return undefined;
    },
    put: (kind, thing) => write(folder, `${randomBytes(8).toString('hex')}.${kind}`, JSON.stringify(thing)),
    copy: async (name, target, make) => {
      const file = path.join(folder, `${name}${MADE}`);
      if (await copyFile(file, target).then(() => true, isAbsent)) return;
      const own = path.join(folder, `${randomBytes(8).toString('hex')}.${pid}`);
      await make(own);
      if (!(await copyFile(own, target).then(() => true, isAbsent))) return;
      await rename(own, file);
    },
    leave: async (clear) => {
      await rm(path.join(folder, `${pid}${MEMBER}`), { force: true });
      const others = await list(folder, MEMBER);
      if (others.some(isAlive)) return;
      await clear();
      for (const left of [...others, ...(await list(folder, MADE))])
        await rm(path.join(folder, left), { force: true });
      // It is not empty where a process has joined since.
      await rmdir(folder).catch(() => {});
    },
  };
}

const MEMBER = '.process';
const MADE = '.made';

/** How often the last process of a run may remove the folder under the first one of the rest. */
const ATTEMPTS = 5;

/** A file that is there whole or not at all. */
async function write(folder: string, name: string, text: string): Promise<void> {
  const draft = path.join(folder, `${name}.draft`);
  for (let attempt = 1; ; attempt += 1) {
    await mkdir(folder, { recursive: true });
    try {
      await writeFile(draft, text);
      await rename(draft, path.join(folder, name));
      return;
    } catch (error) {
      if (attempt === ATTEMPTS || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}

async function list(folder: string, end: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).filter((name) => name.endsWith(end));
  } catch (error) {
    isAbsent(error);
    return [];
  }
}

/** False for what is not there. @throws any other failure */
function isAbsent(error: unknown): false {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  return false;
}

/** `member`: `<pid>.process`. */
function isAlive(member: string): boolean {
  try {
    process.kill(Number.parseInt(member, 10), 0);
    return true;
  } catch (error) {
    // It is another user's.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
