import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type Clock, createSharedCache, type Seal } from 'agent-gateway';
import { publicKeyText } from '../rules/public-key.ts';
import type { KeyStore } from '../store/keys.ts';
import type { KeyRow } from '../store/tables.ts';

/** Milliseconds after which another replica's rotation counts here. */
const MAX_AGE_MS = 1_000;

/** A key to sign with. */
export interface SigningKey {
  readonly id: string;
  /** 32 bytes in base64. */
  readonly publicKey: string;
  readonly key: KeyObject;
}

export type Keys = ReturnType<typeof createKeys>;

/** The keys of the hub, and of this deployment as a node. They are made at the first use, and stored. */
export function createKeys(parts: {
  readonly store: KeyStore;
  readonly seal: Seal;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Milliseconds. */
  readonly overlap: number;
}) {
  const { store, seal, clock, overlap } = parts;
  const opened = new Map<string, SigningKey>();

  function open({ id, publicKey, privateKey }: KeyRow): SigningKey {
    const known = opened.get(id);
    if (known !== undefined) return known;
    const der = Buffer.from(seal.open(privateKey, placeOf(id)), 'base64');
    const key = { id, publicKey, key: createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }) };
    opened.set(id, key);
    return key;
  }

  /** Makes a key. Where several processes do so at once, all use the key of one of them. */
  async function make(use: KeyRow['use'], generation: number): Promise<void> {
    const pair = generateKeyPairSync('ed25519');
    const publicKey = publicKeyText(pair.publicKey);
    const digest = createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex');
    const id = `hub-${digest.slice(0, 16)}`;
    const der = pair.privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64');
    const now = clock.now();
    await store.add(
      {
        id,
        use,
        generation,
        publicKey,
        privateKey: seal.seal(der, placeOf(id)),
        createdAt: new Date(now),
        retiresAt: null,
      },
      new Date(now + overlap),
    );
  }

  const cached = createSharedCache<readonly KeyRow[]>({
    clock,
    maxAge: MAX_AGE_MS,
    maxEntries: 2,
    load: async (use) => {
      const rows = await store.of(use as KeyRow['use']);
      if (rows.length > 0) return rows;
      await make(use as KeyRow['use'], 1);
      return store.of(use as KeyRow['use']);
    },
  });

  async function live(use: KeyRow['use']): Promise<readonly KeyRow[]> {
    const now = clock.now();
    return (await cached.get(use)).filter(({ retiresAt }) => retiresAt === null || retiresAt.getTime() > now);
  }

  return {
    /**
     * The published keys, the one in use first. Private keys stay sealed: where SVC_SECRET_KEY is another one, a
     * rotation puts a key in use that it opens.
     */
    published: async () =>
      (await live('hub')).map(({ id, publicKey, retiresAt }) => ({ id, publicKey, retiresAt })),
    /**
     * The key to sign with: the one that a subscriber knows, for as long as it is published and can be opened, else the
     * one in use.
     */
    async current(knownId?: string): Promise<SigningKey> {
      const rows = await live('hub');
      const known = rows.find(({ id, privateKey }) => id === knownId && seal.opens(privateKey, placeOf(id)));
      return open(known ?? rows[0]!);
    },
    /** This deployment's key as a node; it is not rotated, since the key is the node's identity. */
    node: async () => open((await live('node'))[0]!),
    /** Puts a new key in use. The previous one stays published for the overlap. */
    async rotate(): Promise<SigningKey> {
      await store.forget(new Date(clock.now()));
      const [newest] = await store.of('hub');
      await make('hub', (newest?.generation ?? 0) + 1);
      cached.forget('hub');
      return open((await live('hub'))[0]!);
    },
  };
}

const placeOf = (id: string) => `hub-key/${id}`;

/** Seals private keys again that are stored under the previous secret key. */
export async function resealKeys(store: KeyStore, seal: Seal): Promise<void> {
  for (const use of ['hub', 'node'] as const) {
    for (const { id, privateKey } of await store.of(use)) {
      const sealed = seal.reseal(privateKey, placeOf(id));
      if (sealed !== undefined) await store.reseal(id, sealed);
    }
  }
}
