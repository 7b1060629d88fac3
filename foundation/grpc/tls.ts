import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { type Server, ServerCredentials } from '@grpc/grpc-js';
import type { Clock } from '../base/clock.ts';
import { throttledLog } from '../base/throttle.ts';
import { ConfigurationError, type ConfigurationProblem } from '../config/configuration-error.ts';
import type { Logger } from '../observability/logger.ts';
import { http2ServersOf } from './grpc-js-seams.ts';

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
export type Tls = Awaited<ReturnType<typeof openTls>>;

/** Milliseconds between looks at the files: mounted secrets change without an event that could be relied upon. */
const LOOK_INTERVAL = 30_000;

/**
 * Reads the files, and reads them again when they change: new connections then get the new certificate. Files that do
 * not fit together are logged, and the last ones that did stay. A certificate whose time is over, or has not begun, is
 * logged and used.
 *
 * @throws ConfigurationError like `readTlsFiles`.
 */
export async function openTls(
  files: TlsFiles,
  { log, clock }: { readonly log: Pick<Logger, 'info' | 'warn'>; readonly clock: Pick<Clock, 'now'> },
  interval = LOOK_INTERVAL,
) {
  let current = await readTlsFiles(files);
  const credentials = new FileCredentials(current, files.clientCa !== undefined);
  let lastProblem = '';
  let untimely: TlsMaterial | undefined;
  const checkTime = () => {
    const { validFromDate, validToDate } = new X509Certificate(current.cert);
    const now = clock.now();
    if (untimely === current || (validFromDate.getTime() <= now && now <= validToDate.getTime())) return;
    untimely = current;
    const period = { from: validFromDate, to: validToDate };
    log.warn({ file: files.cert, ...period }, 'the certificate of the gRPC server is not valid now');
  };
  checkTime();
  const look = async () => {
    try {
      const read = await readTlsFiles(files);
      lastProblem = '';
      if (!isSame(read, current)) {
        current = read;
        credentials.update(read);
        log.info({ files }, 'the gRPC server has taken over changed TLS files');
      }
      checkTime();
    } catch (err) {
      // Logged once: the files are looked at again and again.
      if ((err as Error).message !== lastProblem)
        log.warn({ err }, 'the TLS files of the gRPC server cannot be used, the last good ones stay');
      lastProblem = (err as Error).message;
    }
  };
  const timer = setInterval(() => void look(), interval).unref();
  return {
    credentials: credentials as ServerCredentials,
    /** Stops looking at the files. */
    close: () => clearInterval(timer),
  };
}

/**
 * Logs the clients with which no connection came about: no certificate, one of another authority, one that has expired,
 * no TLS. They are told little, and are in no audit record since they make no call. Once a minute, with the latest of
 * them and how many there were.
 */
export function logRefusedClients(
  server: Server,
  { log, clock }: { readonly log: Pick<Logger, 'warn'>; readonly clock: Pick<Clock, 'monotonic'> },
): void {
  const refused = throttledLog<{ readonly reason: string; readonly address: string | undefined }>(
    clock,
    (latest, count) => log.warn({ ...latest, count }, 'a gRPC client was refused: the TLS handshake failed'),
  );
  for (const http2 of http2ServersOf(server)) {
    http2.on('tlsClientError', ({ message }, { authorizationError, remoteAddress: address }) => {
      // Of a certificate that was looked at and refused the error says only that the connection has ended.
      refused({ reason: String(authorizationError ?? message), address });
    });
  }
}

/** What a server and its clients show each other. */
export interface TlsMaterial extends SecureContextOptions {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca?: Buffer;
}

/** The variables that name the files. */
const VARIABLES = {
  cert: 'SVC_GRPC_TLS_CERT',
  key: 'SVC_GRPC_TLS_KEY',
  clientCa: 'SVC_GRPC_TLS_CLIENT_CA',
} as const;

/**
 * Reads the files of TLS, and looks whether they can be used together.
 *
 * @throws ConfigurationError naming the variable of each file that cannot be read, or of those that do not fit.
 */
export async function readTlsFiles(files: TlsFiles): Promise<TlsMaterial> {
  const { cert, key, clientCa } = files;
  const problems: ConfigurationProblem[] = [];
  const read = async (name: string, file: string): Promise<Buffer> => {
    try {
      return await readFile(file);
    } catch (cause) {
      const message = `${file} cannot be read (${(cause as NodeJS.ErrnoException).code})`;
      problems.push({ name, message });
      return Buffer.alloc(0);
    }
  };
  const material = {
    cert: await read(VARIABLES.cert, cert),
    key: await read(VARIABLES.key, key),
    ...(clientCa !== undefined && { ca: await read(VARIABLES.clientCa, clientCa) }),
  };
  if (problems.length > 0) throw new ConfigurationError(problems);
  try {
    createSecureContext(material);
  } catch (cause) {
    const message = `${cert} and ${key} (${VARIABLES.key}) are no certificate and its key: ${(cause as Error).message}`;
    throw new ConfigurationError([{ name: VARIABLES.cert, message }], { cause });
  }
  try {
    if (material.ca !== undefined) checkAuthorities(String(material.ca));
  } catch (cause) {
    const message = `${clientCa} holds no certificate, or one that is broken: ${(cause as Error).message}`;
    throw new ConfigurationError([{ name: VARIABLES.clientCa, message }], { cause });
  }
  return material;
}

/**
 * Throws unless there are authorities and each can be read: Node leaves others out silently, and would refuse the
 * clients of these.
 */
function checkAuthorities(pem: string): void {
  const parts = pem.split(/(?=-----BEGIN )/).filter((part) => part.startsWith('-----BEGIN CERTIFICATE-----'));
  for (const certificate of parts.length > 0 ? parts : [pem]) new X509Certificate(certificate);
}

function isSame(one: TlsMaterial, other: TlsMaterial): boolean {
  return (
    one.cert.equals(other.cert) &&
    one.key.equals(other.key) &&
    (one.ca === undefined || (other.ca !== undefined && one.ca.equals(other.ca)))
  );
}

class FileCredentials extends ServerCredentials {
  constructor(material: TlsMaterial, asksClients: boolean) {
    super({ requestCert: asksClients, rejectUnauthorized: asksClients, minVersion: 'TLSv1.2' }, material);
  }

  update(material: TlsMaterial): void {
    this.updateSecureContextOptions(material);
  }

  override _equals(other: ServerCredentials): boolean {
    return other === this;
  }
}
