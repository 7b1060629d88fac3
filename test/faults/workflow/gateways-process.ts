import { readKernelSettings } from '../../../foundation/config/kernel-settings.ts';
import { createLogger } from '../../../foundation/observability/logger.ts';
import { type Gateway, startGateway } from '../../../kernel/gateway.ts';
import { type Stop, watchBoundaries } from './write-boundaries.ts';

/**
 * A process with several gateways, each over a database of its own, made to be killed: to start a process takes ten
 * times as long as to start a gateway. Its runs can be told to stand still at a boundary of their writes.
 */
export type ToGateways =
  | { readonly type: 'start'; readonly places: readonly Place[] }
  | { readonly type: 'stop-at'; readonly stops: readonly Stop[] }
  | { readonly type: 'met'; readonly marker: string };

/** Where a gateway runs. */
export interface Place {
  readonly env: Readonly<Record<string, string>>;
  /** Tenants with a key each. What runs of one tenant write may share a transaction, and so stand still together. */
  readonly tenants: number;
  /** Their keys, which were made there before; absent: they are made. */
  readonly tokens?: readonly string[];
}

export type FromGateways =
  | {
      readonly type: 'ready';
      readonly places: readonly { readonly url: string; readonly tokens: readonly string[] }[];
    }
  | { readonly type: 'watching' }
  | { readonly type: 'standing'; readonly marker: string; readonly boundary: string }
  | { readonly type: 'met'; readonly boundaries: readonly string[] };

const tell = (message: FromGateways) => process.send!(message);
const boundaries = watchBoundaries((marker, boundary) => {
  tell({ type: 'standing', marker, boundary });
  return new Promise(() => {});
});

async function start(env: Readonly<Record<string, string>>): Promise<Gateway> {
  const settings = readKernelSettings(env);
  return startGateway({
    settings,
    env,
    acpToken: undefined,
    processMetrics: false,
    logging: createLogger({ level: settings.logLevel }),
  });
}

/** A key of a tenant that nobody limits. */
async function makeToken({ services: { tenants, apiKeys } }: Gateway): Promise<string> {
  const { id } = await tenants.create({ name: 'stories', rateLimitRpm: 1_000_000 });
  const { key } = await apiKeys.create({
    tenantId: id,
    name: 'stories',
    scopes: [],
    expiresAt: null,
    createdBy: null,
    roles: ['owner', 'admin', 'user'],
  });
  return key;
}

async function answer(message: ToGateways): Promise<FromGateways> {
  switch (message.type) {
    case 'start': {
      const places = [];
      for (const { env, tenants, tokens } of message.places) {
        const gateway = await start(env);
        const make = () => Promise.all(Array.from({ length: tenants }, () => makeToken(gateway)));
        places.push({ url: gateway.url, tokens: tokens ?? (await make()) });
      }
      return { type: 'ready', places };
    }
    case 'stop-at':
      for (const stop of message.stops) boundaries.stop(stop);
      return { type: 'watching' };
    case 'met':
      return { type: 'met', boundaries: boundaries.met(message.marker) };
  }
}

process.on('message', (message: ToGateways) => void answer(message).then(tell));
process.on('disconnect', () => process.exit(1));
