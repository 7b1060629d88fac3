import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Who owns a journal folder. The folder's name says it (`live.<pid>.<start>.<space>.<id>`), so that a folder and its owner
 * appear, change and vanish in one step. A folder that its owner left on purpose is called `left.<id>`.
 */
export interface JournalOwner {
  readonly pid: number;
  /** When the process started, in the kernel's own unit; tells a process from a later one with the same pid. */
  readonly start: string;
  /** The set of processes among which the pid means something: a boot of a machine and a pid namespace. */
  readonly space: string;
  readonly id: string;
}

/** The owner that this process is. */
export function thisOwner(id: string): JournalOwner {
  return { pid: process.pid, start: startOf(process.pid) ?? '0', space: processSpace(), id };
}

/** The folder name of a live owner. */
export function liveName({ pid, start, space, id }: JournalOwner): string {
  return `live.${pid}.${start}.${space}.${id}`;
}

/** The folder name of a journal whose owner has left. */
export function leftName(id: string): string {
  return `left.${id}`;
}

/** How long a folder may go without a heartbeat before its owner counts as dead, where nobody can look the process up. */
const SILENCE_MS = 60_000;

/**
 * True when nobody can be writing to this folder any more: its owner left or died. A process of the same machine and pid
 * namespace is looked up; of any other only the heartbeat is known (the folder's modification time).
 *
 * @param silence milliseconds since the last heartbeat
 */
export function isAbandoned(folder: string, silence: number): boolean {
  const [state, pid, start, space, id] = folder.split('.');
  if (state === 'left') return true;
  if (state !== 'live' || id === undefined) return false;
  if (space !== processSpace()) return silence > SILENCE_MS;
  return !isRunning(Number(pid), start as string);
}

function isRunning(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs, under another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const now = startOf(pid);
  return now === undefined || now === start;
}

/** Field 22 of Linux' /proc/<pid>/stat; `undefined` elsewhere. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

let knownSpace: string | undefined;

function processSpace(): string {
  knownSpace ??= createHash('sha256').update(describeSpace()).digest('hex').slice(0, 16);
  return knownSpace;
}

function describeSpace(): string {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1')} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}
