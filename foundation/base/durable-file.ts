import { randomBytes } from 'node:crypto';
import { constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { type FileHandle, link, open, rename, unlink } from 'node:fs/promises';
import path from 'node:path';

/**
 * Replaces a file so that every reader sees the old or the new content, also after a power failure: writes a neighbour,
 * flushes it, renames it over `target` and flushes the folder. `target` must not be a symbolic link. Rejects with the
 * system's error and leaves the old file when anything fails; with `isNew` also where there is a file (EEXIST), even
 * one that another process has just made.
 */
export async function writeAtomically(
  target: string,
  content: string,
  mode: number,
  isNew = false,
): Promise<void> {
  const temporary = temporaryName(target);
  try {
    await writeFlushed(temporary, content, mode);
    await (isNew ? moveToNew(temporary, target) : rename(temporary, target));
  } finally {
    await unlink(temporary).catch(ignoreMissing);
  }
  await flushFolder(path.dirname(target));
}

/** A link, unlike a rename, replaces nothing. File systems without links have nothing that is as good. */
async function moveToNew(temporary: string, target: string): Promise<void> {
  try {
    await link(temporary, target);
  } catch (error) {
    if (!isSystemError(error, 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS')) throw error;
    await rename(temporary, target);
  }
}

/** A name next to `target` that no other writer uses. */
function temporaryName(target: string): string {
  return path.join(path.dirname(target), `.${path.basename(target)}.${randomBytes(8).toString('hex')}.tmp`);
}

/** Creates a file that must not exist, with exactly this mode, and returns when its content is on the disk. */
async function writeFlushed(file: string, content: string, mode: number): Promise<void> {
  const handle = await open(file, 'wx', mode);
  try {
    await handle.chmod(mode);
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Makes a folder for the user of the process alone, and those above it, where they are not there. Throws the system's
 * error. `mkdir` of Node with `recursive` tries without end where a file system makes no folder although the one above
 * is there, as `/proc` does.
 */
export function makeFolder(folder: string): void {
  const isThere = () => statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isThere()) return;
  const parent = path.dirname(folder);
  if (!existsSync(parent)) makeFolder(parent);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have been faster.
    if (!isThere()) throw error;
  }
}

/** Makes a rename or link inside the folder durable. */
export async function flushFolder(folder: string): Promise<void> {
  let handle: FileHandle;
  try {
    handle = await open(folder, 'r');
  } catch (error) {
    // Windows opens no folders; there the rename itself is all that can be had.
    if (isSystemError(error, 'EISDIR', 'EPERM', 'EACCES')) return;
    throw error;
  }
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * The text (UTF-8) of a regular file of at most `limit` bytes, or why it cannot be used. Never waits for the other end
 * of a pipe. Rejects with the system's error.
 *
 * @param flags in addition to those for reading: `O_NOFOLLOW`
 */
export async function readTextFile(
  file: string,
  limit: number,
  flags = 0,
): Promise<{ readonly text: string } | { readonly problem: string }> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | flags);
  try {
    const status = await handle.stat();
    if (!status.isFile()) return { problem: 'is not a file' };
    let buffer = Buffer.allocUnsafe(Math.min(limit, status.size) + 1);
    let length = 0;
    for (let more = 1; more > 0 && length <= limit; length += more) {
      // What it has grown by since is read as well.
      if (length === buffer.length) buffer = Buffer.concat([buffer], Math.min(limit, 2 * length) + 1);
      more = (await handle.read(buffer, length, buffer.length - length)).bytesRead;
    }
    if (length > limit) return { problem: `is larger than ${limit} bytes` };
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(buffer.subarray(0, length)) };
  } catch (error) {
    if (error instanceof TypeError) return { problem: 'is not UTF-8' };
    throw error;
  } finally {
    await handle.close();
  }
}

/** Is this an error of the operating system with one of the codes? */
export function isSystemError(
  error: unknown,
  ...codes: string[]
): error is NodeJS.ErrnoException & { code: string } {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === 'string' && (codes.length === 0 ? /^E[A-Z0-9]+$/.test(code) : codes.includes(code));
}

/** Is the disk full, or the user's share of it? */
export function isDiskFull(error: unknown): boolean {
  return isSystemError(error, 'ENOSPC', 'EDQUOT');
}

/** For cleaning up: a file that is gone already is what was wanted. */
export function ignoreMissing(error: unknown): void {
  if (!isSystemError(error, 'ENOENT')) throw error;
}
