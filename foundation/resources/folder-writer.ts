import { lstat, mkdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import { flushFolder, isSystemError, writeAtomically } from '../base/durable-file.ts';
import type { GatewayError } from '../base/gateway-error.ts';
import { WRITABLE_FILE } from './folder-scan.ts';
import { ResourceErrors } from './resources.ts';

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

/** Writes the file as a whole; makes the folder where there is none. @throws ResourceErrors.exists for a new one that another process has made meanwhile. */
export async function putFile(target: string, text: string, isNew: boolean): Promise<void> {
  try {
    await mkdir(path.dirname(target), { recursive: true });
    await writeAtomically(target, text, FILE_MODE, isNew);
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
    await unlink(target);
    await flushFolder(path.dirname(target));
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) {
      throw ResourceErrors.notFound(`There is no file ${path.basename(target)}.`);
    }
    throw notWritable(target, error);
  }
}

function notWritable(target: string, error: unknown): unknown {
  if (!isSystemError(error)) return error;
  return ResourceErrors.notWritable(`${path.basename(target)} cannot be written (${error.code}).`, {
    cause: error,
  });
}
