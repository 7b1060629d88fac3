import { randomBytes } from 'node:crypto';
import { type FileHandle, open, rename, unlink } from 'node:fs/promises';
import path from 'node:path';

/**
 * Replaces a file so that every reader sees the old or the new content, also after a power failure: writes a neighbour,
 * flushes it, renames it over `target` and flushes the folder. `target` must not be a symbolic link. Rejects with the
 * system's error and leaves the old file when anything fails.
 */
export async function writeAtomically(target: string, content: string, mode: number): Promise<void> {
  const temporary = temporaryName(target);
  try {
    await writeFlushed(temporary, content, mode);
    await rename(temporary, target);
  } catch (error) {
    await unlink(temporary).catch(ignoreMissing);
    throw error;
  }
  await flushFolder(path.dirname(target));
}

/** A name beside `target` that nobody else uses. */
export function temporaryName(target: string): string {
  return path.join(path.dirname(target), `.${path.basename(target)}.${randomBytes(8).toString('hex')}.tmp`);
}

/** Creates a file that must not exist, with exactly this mode, and returns when its content is on the disk. */
export async function writeFlushed(file: string, content: string, mode: number): Promise<void> {
  const handle = await open(file, 'wx', mode);
  try {
    await handle.chmod(mode);
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
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

/** Is this an error of the operating system with one of the codes? */
export function isSystemError(
  error: unknown,
  ...codes: string[]
): error is NodeJS.ErrnoException & { code: string } {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === 'string' && (codes.length === 0 ? /^E[A-Z0-9]+$/.test(code) : codes.includes(code));
}

/** For cleaning up: a file that is gone already is what was wanted. */
export function ignoreMissing(error: unknown): void {
  if (!isSystemError(error, 'ENOENT')) throw error;
}
