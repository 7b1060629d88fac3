import { constants } from 'node:fs';
import { lstat, mkdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import { flushFolder, isSystemError, readTextFile, writeAtomically } from '../base/durable-file.ts';
import { whileLocked } from '../base/file-lock.ts';
import type { GatewayError } from '../base/gateway-error.ts';
import { parseSourceFile } from './document.ts';
import { WRITABLE_FILE } from './folder-scan.ts';
import { type FileWriteOptions, RESOURCE_LIMITS, ResourceErrors } from './resources.ts';

/** Resources are no secrets; their keys are references. */
const FILE_MODE = 0o644;

/** The path of a file that may be written. @throws ResourceErrors.badFileName for one elsewhere, or of another kind. */
export function writablePath(folder: string, file: string): string {
  if (WRITABLE_FILE.test(file)) return path.join(folder, file);
  throw ResourceErrors.badFileName(
    'A file of resources is named with letters, digits, dots, underscores and dashes, ends in .yaml, and lies in the folder itself.',
  );
}

/** Is there such a file? @throws ResourceErrors.notWritable for a link or a folder. */
export async function hasFile(target: string): Promise<boolean> {
  try {
    if ((await lstat(target)).isFile()) return true;
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return false;
    throw notWritable(target, error);
  }
  throw ResourceErrors.notWritable(`${path.basename(target)} is a link or a folder.`);
}

/**
 * Writes the file as a whole; makes the folder where there is none. @throws ResourceErrors.exists for a new one that
 * another process has made meanwhile, ResourceErrors.changed where it does not hold `before` alone.
 */
export async function putFile(
  target: string,
  text: string,
  { isNew = false, before }: FileWriteOptions,
): Promise<void> {
  try {
    await mkdir(path.dirname(target), { recursive: true });
    await alone(target, async () => {
      if (before !== undefined && !(await holds(target, before))) throw ResourceErrors.changed();
      await writeAtomically(target, text, FILE_MODE, isNew);
    });
  } catch (error) {
    if (isNew && isSystemError(error, 'EEXIST')) throw fileExists(target);
    throw notWritable(target, error);
  }
}

/** The error of a new file whose name is taken. */
export function fileExists(target: string): GatewayError {
  return ResourceErrors.exists(`There is a file ${path.basename(target)} already.`);
}

/** Deletes the file. @throws ResourceErrors.notFound where there is none. */
export async function deleteFile(target: string): Promise<void> {
  try {
    await alone(target, () => unlink(target));
    await flushFolder(path.dirname(target));
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) {
      throw ResourceErrors.notFound(`There is no file ${path.basename(target)}.`);
    }
    throw notWritable(target, error);
  }
}

const alone = <T>(target: string, work: () => Promise<T>) =>
  whileLocked(target, work, (reason) => ResourceErrors.busy(`${path.basename(target)} ${reason}.`));

/** Whether this document is all that the file holds. */
async function holds(target: string, document: string): Promise<boolean> {
  try {
    const reading = await readTextFile(target, RESOURCE_LIMITS.fileBytes, constants.O_NOFOLLOW);
    if (!('text' in reading)) return false;
    const { documents } = parseSourceFile(target, reading.text);
    return documents.length === 1 && documents[0]!.text === document;
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return false;
    throw error;
  }
}

function notWritable(target: string, error: unknown): unknown {
  if (!isSystemError(error)) return error;
  return ResourceErrors.notWritable(`${path.basename(target)} cannot be written (${error.code}).`, {
    cause: error,
  });
}
