import { createHash } from 'node:crypto';
import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { makeFolder } from '../base/durable-file.ts';

const SEGMENT_ENDING = '.jsonl';
const PROBE_BYTES = 4096;

/**
 * Makes the folder of one journal inside a directory that several processes, also of several machines, may share.
 * Nothing is locked: a folder changes hands by a rename, which one process wins. Throws where directory and folder
 * cannot be made.
 */
export function createJournalFolder(directory: string, owner: JournalOwner) {
  const own = path.join(directory, liveName(owner));
  let lastSegment = 0;

  /** Makes the folder (again), readable by its owner alone, and tries whether the disk takes something. */
  function create(): void {
    makeFolder(own);
    const probe = path.join(own, 'probe');
    writeFileSync(probe, Buffer.alloc(PROBE_BYTES), { mode: 0o600 });
    unlinkSync(probe);
  }

  /** The path of one more segment. */
  function nextSegmentPath(): string {
    lastSegment += 1;
    return path.join(own, `${String(lastSegment).padStart(8, '0')}${SEGMENT_ENDING}`);
  }

  /** Moves the segments of a claimed folder, and of those that its owner had claimed, up into this one. */
  function flatten(folder: string): string[] {
    const moved = readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const from = path.join(folder, entry.name);
      if (entry.isDirectory()) return flatten(from);
      const to = nextSegmentPath();
      renameSync(from, to);
      return [to];
    });
    rmdirSync(folder);
    return moved;
  }

  create();

  return {
    create,

    nextSegmentPath,

    get path(): string {
      return own;
    },

    exists(): boolean {
      return existsSync(own);
    },

    /** Shows other processes that the owner lives. False when one of them took it for dead and took the folder over. */
    heartbeat(now: Date): boolean {
      try {
        utimesSync(own, now, now);
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
        throw error;
      }
    },

    /** Takes over the segments of processes that are gone and returns their new paths. `now` is in milliseconds. */
    claimAbandoned(now: number): string[] {
      const ownName = path.basename(own);
      for (const name of readdirSync(directory)) {
        if (name === ownName) continue;
        const abandoned = path.join(directory, name);
        try {
          if (!isAbandoned(name, now - statSync(abandoned).mtimeMs)) continue;
          renameSync(abandoned, path.join(own, name));
        } catch (error) {
          // Another process was faster.
          if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
        }
      }
      return readdirSync(own, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .flatMap((entry) => flatten(path.join(own, entry.name)));
    },

    /** Removes the folder, which must be empty. */
    remove(): void {
      rmdirSync(own);
    },

    /** Leaves the folder to the process that starts next. */
    leave(): void {
      renameSync(own, path.join(directory, leftName(owner.id)));
    },
  };
}

/**
 * Who owns a journal folder. The folder's name says it (`live.<pid>.<start>.<space>.<id>`), so that a folder and its
 * owner appear, change and vanish in one step. A folder that its owner left on purpose is called `left.<id>`.
 */
export interface JournalOwner {
  readonly pid: number;
  /** When the process started, in the kernel's own unit; distinguishes a process from a later one with the same pid. */
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
function liveName({ pid, start, space, id }: JournalOwner): string {
  return `live.${pid}.${start}.${space}.${id}`;
}

/** The folder name of a journal whose owner has left. */
function leftName(id: string): string {
  return `left.${id}`;
}

/**
 * How long a folder may go without a heartbeat before its owner counts as dead, where the process cannot be looked up.
 */
const SILENCE_MS = 60_000;

/**
 * True when no process can be writing to this folder any more: its owner left or died. A process of the same machine
 * and pid namespace is looked up; of any other only the heartbeat is known (the folder's modification time).
 *
 * @param silence milliseconds since the last heartbeat
 */
function isAbandoned(folder: string, silence: number): boolean {
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
