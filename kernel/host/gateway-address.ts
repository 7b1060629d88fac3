import { restOf } from '../../foundation/config/desired.ts';
import type { GatewayFile } from '../../foundation/config/gateway-file.ts';
import type { KernelSettings } from '../../foundation/config/kernel-settings.ts';
import type { Environment } from '../../foundation/config/read-config.ts';
import type { Address } from '../../foundation/http/address.ts';
import type { Plugin } from '../api/plugin.ts';
import { listenRules, listenVariable, readSettings } from './plugin-configuration.ts';

/** Where a gateway listens for what has no address of its own. */
export interface GatewayAddress {
  /** Undefined: nowhere, since a plugin is alone and has an address of its own. */
  readonly own: Address | undefined;
  /** The owner that an error names when the address cannot be had. */
  readonly owner: string;
  /** Where the gateway is found. */
  readonly main: Address;
}

/** What decides about it. */
interface AddressParts {
  readonly settings: Pick<KernelSettings, 'listen' | 'isListenSet'>;
  readonly plugins: Iterable<Plugin>;
  readonly file: GatewayFile;
  /** `SVC_PLUGINS` with what it needs; empty for all. */
  readonly only: readonly string[];
  readonly env: Environment;
}

/**
 * Where the gateway listens: what `SVC_HOST` and `SAAS_API_PORT` say; where they say nothing and a plugin is alone in
 * the process, where that plugin does (`ListenRules.alone`). Decided once, at the start.
 */
export function gatewayAddress({ settings, plugins, file, only, env }: AddressParts): GatewayAddress {
  const { listen, isListenSet } = settings;
  const usual = { ...listen, variable: 'SAAS_API_PORT', hostVariable: 'SVC_HOST' };
  const running = [...plugins].filter(({ name }) => restOf(name, file, only) === undefined);
  const names = new Set(running.map(({ name }) => name));
  for (const plugin of running) {
    const rules = listenRules(plugin);
    if (rules?.alone === undefined || names.has(rules.alone.without)) continue;
    const { host, port } = rules.alone;
    const address = addressOf(plugin, file, env);
    const isSaid = isListenSet.host || isListenSet.port;
    if (address !== undefined && !isSaid) return { own: undefined, owner: plugin.name, main: address };
    if (isListenSet.port && isListenSet.host) break;
    const own = {
      host: isListenSet.host ? listen.host : host,
      port: isListenSet.port ? listen.port : port,
      variable: isListenSet.port ? 'SAAS_API_PORT' : listenVariable(plugin, rules),
      ...(isListenSet.host && { hostVariable: 'SVC_HOST' }),
    };
    return { own, owner: plugin.name, main: own };
  }
  return { own: usual, owner: 'kernel', main: usual };
}

/** The plugin's own address. What is wrong with its configuration is said when it starts. */
function addressOf(plugin: Plugin, file: GatewayFile, env: Environment): Address | undefined {
  try {
    return readSettings(plugin, file, env).address;
  } catch {
    return undefined;
  }
}
