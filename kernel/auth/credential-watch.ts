import { forEachLimited } from '../../foundation/base/semaphore.ts';
import { TransientSet } from '../../foundation/base/transient.ts';
import { type Identity, REJECTED } from '../access/identity.ts';
import type { Tenants } from '../tenancy/tenants.ts';
import { admit } from './admit.ts';
import type { Credentials } from './authenticator.ts';
import type { AuthenticationChain } from './chain.ts';
import { AuthErrors } from './errors.ts';

/** An open stream. */
export interface WatchedStream {
  readonly identity: Identity;
  abort(reason: Error): void;
}

/** An open stream, and the credentials that opened it. */
interface Watched {
  readonly stream: WatchedStream;
  readonly credentials: Credentials | undefined;
}

/** Ends streams whose credential no longer holds. */
export interface CredentialWatch {
  /** Watches a stream until the returned function is called. Without credentials only its tenant ends it. */
  watch(stream: WatchedStream, credentials: Credentials | undefined): () => void;
}

/** Milliseconds between two looks: a revocation that this process knows of ends its streams within it. */
const EVERY_MS = 500;
/** Credentials asked about at one time: one whose authenticator hangs for its 5 s does not keep the others open. */
const WIDTH = 32;

/** Asks the chain again for as long as streams are open, once for all streams with the same credential. */
export function createCredentialWatch(
  chain: Pick<AuthenticationChain, 'authenticate'>,
  tenants: Pick<Tenants, 'get'>,
): CredentialWatch {
  const open = new TransientSet<Watched>();
  let timer: NodeJS.Timeout | undefined;

  /** False when the credential does not hold; true also while the chain cannot decide. */
  async function holds({ stream: { identity }, credentials }: Watched): Promise<boolean> {
    try {
      const found = credentials === undefined ? { identity } : await chain.authenticate(credentials);
      const { identity: now } = await admit(found, tenants);
      return now !== REJECTED && now.id === identity.id && now.tenantId === identity.tenantId;
    } catch {
      return true;
    }
  }

  async function look(): Promise<void> {
    const credentials = Map.groupBy(open, (watched): unknown => presentedBy(watched) ?? watched);
    await forEachLimited(credentials.values(), WIDTH, async (streams) => {
      if (await holds(streams[0]!)) return;
      for (const watched of streams.filter((one) => open.has(one)))
        watched.stream.abort(AuthErrors.invalid('The credential does not hold any more'));
    });
    plan();
  }

  function plan(): void {
    timer = open.size === 0 ? undefined : setTimeout(look, EVERY_MS).unref();
  }

  return {
    watch(stream, credentials) {
      if (stream.identity.method === 'anonymous') return () => {};
      const watched = { stream, credentials };
      open.add(watched);
      if (timer === undefined) plan();
      return () => open.delete(watched);
    },
  };
}

/** The same text for all streams with the same token; `undefined` for what only their authenticator can judge. */
function presentedBy({ stream: { identity }, credentials }: Watched): string | undefined {
  if (credentials?.bearer === undefined) return undefined;
  return [identity.method, identity.tenantId, identity.id, credentials.method, credentials.bearer].join('\n');
}
