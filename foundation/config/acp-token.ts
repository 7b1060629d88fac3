import { chmod, lstat, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Logger } from 'pino';
import { isDiskFull, isSystemError, makeFolder, writeAtomically } from '../base/durable-file.ts';
import type { Ids } from '../base/ids.ts';
import { ConfigurationError, fileError } from './configuration-error.ts';

/** The operator's static token and where it came from. */
export type AcpToken =
  | { readonly source: 'environment'; readonly token: string }
  | { readonly source: 'file'; readonly token: string; readonly file: string }
  | { readonly source: 'made'; readonly token: string; readonly file: string }
  | { readonly source: 'none'; readonly token: undefined };

const TOKEN = /^acp_[A-Za-z0-9_-]{43}$/;
const MAX_FILE_BYTES = 1024;
const DISK_IS_FULL =
  'cannot be written, its disk is full: make room there, or move the files of the gateway to another disk (SVC_DATA_DIR)';

/** Characters below which a token may be guessed; `openssl rand -hex 32` gives 64. */
const FEWEST_CHARACTERS = 20;

/** Warns an operator of a token that opens everything and may be guessed. */
export function warnOfWeakToken(token: string, log: Pick<Logger, 'warn'>): void {
  if (token.length >= FEWEST_CHARACTERS) return;
  log.warn(
    `SVC_ACP_TOKEN has fewer than ${FEWEST_CHARACTERS} characters and may be guessed: make one with openssl rand -hex 32`,
  );
}

/**
 * The static token (decisions 0.5): what `SVC_ACP_TOKEN` says; else, outside production, the one in
 * `<dataDir>/acp-token`, made when there is none (`acp_` and base64url of 32 random bytes, mode 0600). Processes that
 * start at once agree on one. In production without the variable there is none, and a file from development is not
 * used. Throws a ConfigurationError when the file cannot be used.
 */
export async function ensureAcpToken(options: {
  readonly configured: string | undefined;
  readonly production: boolean;
  readonly dataDir: string;
  readonly ids: Pick<Ids, 'bytes'>;
}): Promise<AcpToken> {
  if (options.configured !== undefined) return { source: 'environment', token: options.configured };
  if (options.production) return { source: 'none', token: undefined };
  const file = path.join(options.dataDir, 'acp-token');
  try {
    const kept = await readToken(file);
    if (kept !== undefined) return { source: 'file', token: kept, file };
    makeFolder(options.dataDir);
    const token = `acp_${options.ids.bytes(32).toString('base64url')}`;
    if (await keepToken(file, token)) return { source: 'made', token, file };
    const winner = await readToken(file);
    if (winner !== undefined) return { source: 'file', token: winner, file };
    throw unusable(file, 'vanished while it was read');
  } catch (error) {
    if (error instanceof ConfigurationError || !isSystemError(error)) throw error;
    // With the variable the same folder would fail for the database or the audit journal next.
    if (isDiskFull(error)) throw fileError(file, DISK_IS_FULL, error);
    throw fileError(file, `cannot be kept (${error.code}), the gateway has to write in SVC_DATA_DIR`, error);
  }
}

/** The kept token; undefined without a file. Other users' access to it is taken away. */
async function readToken(file: string): Promise<string | undefined> {
  try {
    const status = await lstat(file);
    if (!status.isFile() || status.size > MAX_FILE_BYTES)
      throw unusable(file, 'is not a file that holds a token');
    if ((status.mode & 0o077) !== 0) await chmod(file, 0o600);
    const token = (await readFile(file, 'utf8')).trim();
    if (!TOKEN.test(token)) throw unusable(file, 'holds no token, delete it');
    return token;
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** False when another process was first. */
async function keepToken(file: string, token: string): Promise<boolean> {
  try {
    await writeAtomically(file, `${token}\n`, 0o600, true);
    return true;
  } catch (error) {
    if (isSystemError(error, 'EEXIST')) return false;
    throw error;
  }
}

function unusable(file: string, reason: string): ConfigurationError {
  return fileError(file, `${reason}; or set SVC_ACP_TOKEN`);
}
