import { readdir, readFile } from 'node:fs/promises';

/** More processes than a sandbox may have are not looked at. */
const MOST_PROCESSES = 512;

/**
 * Bytes that a process and all its descendants hold in memory: their own pages and shared memory, files aside. A page that a fork
 * shares counts for each. 0 for a process that is gone.
 */
export async function memoryUse(pid: number): Promise<number> {
  const pending = [pid];
  let bytes = 0;
  for (let looked = 0; pending.length > 0 && looked < MOST_PROCESSES; looked += 1) {
    const next = pending.pop()!;
    const [own, children] = await Promise.all([residentBytes(next), childrenOf(next)]);
    bytes += own;
    pending.push(...children);
  }
  return bytes;
}

async function residentBytes(pid: number): Promise<number> {
  const status = await readOrNothing(`/proc/${pid}/status`);
  let kilobytes = 0;
  for (const [, amount] of status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm)) kilobytes += Number(amount);
  return kilobytes * 1024;
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(
    threads.slice(0, MOST_PROCESSES).map((thread) => readOrNothing(`/proc/${pid}/task/${thread}/children`)),
  );
  return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number));
}

/** A process may end at any moment, and its files with it. */
function readOrNothing(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}
