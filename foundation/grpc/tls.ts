import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { ServerCredentials } from '@grpc/grpc-js';
import type { Logger } from '../observability/logger.ts';

/** The files of TLS (PEM). */
export interface TlsFiles {
  /** The server's certificate, and those between it and its authority. */
  readonly cert: string;
  /** The server's private key, without a passphrase. */
  readonly key: string;
  /** Certificates of the authorities that sign clients; then only clients with such a certificate are served (mTLS). */
  readonly clientCa?: string | undefined;
}

/** Credentials of a server that follow their files. */
export interface Tls {
  readonly credentials: ServerCredentials;
  /** Stops looking at the files. */
  close(): void;
}

/** Milliseconds between looks at the files: mounted secrets change without an event that could be relied upon. */
const LOOK_INTERVAL = 30_000;

/**
 * Reads the files, and reads them again when they change: new connections then get the new certificate. Files that do not
 * fit together are logged, and the last ones that did stay.
 *
 * @throws Error naming the file that cannot be read, or what is wrong with them.
 */
export async function openTls(
  files: TlsFiles,
  log: Pick<Logger, 'info' | 'warn'>,
  interval = LOOK_INTERVAL,
): Promise<Tls> {
  let current = await readFiles(files);
  const credentials = new FileCredentials(current, files.clientCa !== undefined);
  let lastProblem = '';
  const look = async () => {
    try {
      const read = await readFiles(files);
      lastProblem = '';
      if (isSame(read, current)) return;
      current = read;
      credentials.update(read);
      log.info({ file: files.cert }, 'the certificate of the gRPC server has changed');
    } catch (err) {
      // Logged once: the files are looked at again and again.
      if ((err as Error).message !== lastProblem) log.warn({ err }, 'the certificate stays as it was');
      lastProblem = (err as Error).message;
    }
  };
  const timer = setInterval(() => void look(), interval).unref();
  return { credentials, close: () => clearInterval(timer) };
}

/** What a server and its clients show each other. */
interface Material extends SecureContextOptions {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
}

async function readFiles({ cert, key, clientCa }: TlsFiles): Promise<Material> {
  const material = {
    cert: await read(cert),
    key: await read(key),
    ...(clientCa === undefined ? {} : { ca: await read(clientCa) }),
  };
  try {
    createSecureContext(material);
  } catch (cause) {
    throw new Error(`${cert} and ${key} are no certificate and its key: ${(cause as Error).message}`, {
      cause,
    });
  }
  return material;
}

async function read(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (cause) {
    throw new Error(`${file} cannot be read (${(cause as NodeJS.ErrnoException).code})`, { cause });
  }
}

function isSame(one: Material, other: Material): boolean {
  return (
    one.cert.equals(other.cert) &&
    one.key.equals(other.key) &&
    (one.ca === undefined || (other.ca !== undefined && one.ca.equals(other.ca)))
  );
}

class FileCredentials extends ServerCredentials {
  constructor(material: Material, asksClients: boolean) {
    super({ requestCert: asksClients, rejectUnauthorized: asksClients, minVersion: 'TLSv1.2' }, material);
  }

  update(material: Material): void {
    this.updateSecureContextOptions(material);
  }

  override _equals(other: ServerCredentials): boolean {
    return other === this;
  }
}
