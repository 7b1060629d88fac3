import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { defineErrors } from '../base/gateway-error.ts';

/** Why a reference gives no secret. The details name the reference, never a value. */
export const SecretErrors = defineErrors({
  malformed: { code: 'secret.malformed', kind: 'invalid', title: 'The text is not a reference to a secret' },
  refused: { code: 'secret.refused', kind: 'forbidden', title: 'A tenant may not use this reference' },
  /** Kind `unavailable`: the caller did nothing wrong, the author of the reference or of the secret has to act. */
  notFound: {
    code: 'secret.not-found',
    kind: 'unavailable',
    title: 'There is no secret behind the reference',
  },
  unusable: { code: 'secret.unusable', kind: 'unavailable', title: 'What the reference names is no secret' },
  sealed: {
    code: 'secret.sealed',
    kind: 'unavailable',
    title: 'The stored secret cannot be read with the SVC_SECRET_KEY of this gateway',
  },
  /** A plugin's store is named, and no plugin that runs contributes it. */
  storeMissing: {
    code: 'secret.store-missing',
    kind: 'unavailable',
    title: 'No plugin offers the store of the secret now',
  },
  unreadable: { code: 'secret.unreadable', kind: 'unavailable', title: 'The secret cannot be read now' },
});

/** True for a normal path that does not leave the folder that it starts in. A name like `..data` is no way out. */
export function isBelow(relative: string): boolean {
  return (
    relative !== '' && relative !== '..' && !relative.startsWith('../') && !path.posix.isAbsolute(relative)
  );
}

/** Bytes that a secret file may have: a certificate chain with its key fits. */
const MAX_BYTES = 65_536;

/** How often a file is looked for that is replaced while it is looked for. */
const ATTEMPTS = 8;

/** Never waits for the other end of a pipe, never follows a link that appeared after the path was resolved. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;

/** A file to read. */
export interface SecretFile {
  /** Names it in errors. */
  readonly reference: string;
  readonly path: string;
  /** The folder that the file has to be in after all links were followed; `undefined`: anywhere. */
  readonly within: string | undefined;
}

/**
 * The text of a secret file: UTF-8, one line break at the end cut. It is read again each time, so a file that was
 * replaced (Kubernetes exchanges a link to a folder, Docker the file) is seen at once.
 *
 * @throws SecretErrors.notFound without the file or with nothing in it; `.refused` when it lies outside of `within`;
 * `.unusable` for anything but a regular file with up to 64 KiB of text; `.unreadable` when the system does not let it
 * be read.
 */
export async function readSecretFile(file: SecretFile): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return textOf(await readBytes(await resolve(file), file.reference), file.reference);
    } catch (error) {
      // Between resolving links and opening, what they lead to may have been replaced.
      const code = (error as NodeJS.ErrnoException).code;
      if (attempt < ATTEMPTS && (code === 'ENOENT' || code === 'ELOOP')) continue;
      throw asSecretError(error, file.reference);
    }
  }
}

/** The path without links. */
async function resolve({ reference, path: wanted, within }: SecretFile): Promise<string> {
  const real = await realpath(wanted);
  if (within === undefined) return real;
  if (isBelow(path.relative(await realpath(within), real))) return real;
  throw SecretErrors.refused(`${reference} leads out of the secrets folder`);
}

async function readBytes(real: string, reference: string): Promise<Buffer> {
  // Looked at before it is opened, for opening a device may do something.
  assertRegular(await stat(real), reference);
  const handle = await open(real, FLAGS);
  try {
    assertRegular(await handle.stat(), reference);
    return await readAll(handle, reference);
  } finally {
    await handle.close();
  }
}

function assertRegular(stats: Stats, reference: string): void {
  if (!stats.isFile()) throw SecretErrors.unusable(`${reference} is not a regular file`);
}

/** Reads to the end or the bound; what is said of a file's size is not asked, for it may change or be missing. */
async function readAll(handle: FileHandle, reference: string): Promise<Buffer> {
  const buffer = Buffer.alloc(MAX_BYTES + 1);
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await handle.read(buffer, length);
    if (bytesRead === 0) return buffer.subarray(0, length);
    length += bytesRead;
  }
  throw SecretErrors.unusable(`${reference} is larger than ${MAX_BYTES} bytes`);
}

function textOf(bytes: Buffer, reference: string): string {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw SecretErrors.unusable(`${reference} is not text in UTF-8`);
  }
  if (text.includes('\0')) throw SecretErrors.unusable(`${reference} holds a zero byte`);
  const value = text.replace(/\r?\n$/, '');
  if (value === '') throw SecretErrors.notFound(`${reference} is empty`);
  return value;
}

const NOT_THERE = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG']);

function asSecretError(error: unknown, reference: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException;
  if (syscall === undefined || code === undefined) return error;
  if (NOT_THERE.has(code)) return SecretErrors.notFound(`${reference} does not exist`, { cause: error });
  return SecretErrors.unreadable(`${reference} cannot be read (${code})`, { cause: error });
}
