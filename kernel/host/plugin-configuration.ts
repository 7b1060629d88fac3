import type { TSchema } from 'typebox';
import { Type } from '../../foundation/base/type.ts';
import { ConfigurationError, namesVariable } from '../../foundation/config/configuration-error.ts';
import type { Desired } from '../../foundation/config/desired.ts';
import { annotationOf } from '../../foundation/config/field.ts';
import { pluginSources } from '../../foundation/config/gateway-file.ts';
import { type Environment, readConfig, secretsOf } from '../../foundation/config/read-config.ts';
import type { Address as HostAndPort } from '../../foundation/config/units.ts';
import type { Registration } from '../../foundation/data/database.ts';
import { type Address, ListenError } from '../../foundation/http/address.ts';
import type { ListenRules, Plugin } from '../api/plugin.ts';

/** A plugin's configuration, read and checked. */
interface PluginSettings {
  readonly config: unknown;
  /** Of the configuration: no output may hold them. */
  readonly secrets: readonly string[];
  /** Where its routes listen; `undefined` for the gateway's own address. */
  readonly address: Address | undefined;
}

/**
 * Reads the configuration of a plugin: environment over gateway.yaml over defaults.
 *
 * @throws ConfigurationError with everything that is wrong.
 */
export function readSettings(plugin: Plugin, desired: Desired, env: Environment): PluginSettings {
  const schema: TSchema = plugin.config ?? Type.Object({});
  const sources = pluginSources(desired, plugin.name, env);
  const config = readConfig(schema, sources) as Record<string, unknown>;
  return { config, secrets: secretsOf(schema, config), address: listenAddress(plugin, config) };
}

/** What a plugin says of where it listens. */
export function listenRules({ listen }: Plugin): ListenRules | undefined {
  return typeof listen === 'string' ? { field: listen } : listen;
}

/** The variable that sets where a plugin listens, or the place in gateway.yaml where there is none. */
export function listenVariable(plugin: Plugin, { field }: ListenRules): string {
  const member = (plugin.config as { properties?: Record<string, TSchema> } | undefined)?.properties?.[field];
  const annotation = member && annotationOf(member);
  if (annotation?.kind !== 'address') {
    throw new Error(
      `${plugin.name}: "listen" names ${field}, which is no address field of its configuration`,
    );
  }
  return annotation.env ?? `plugins.${plugin.name}.config.${field}`;
}

/**
 * Whether a failure of a plugin ends the first start: a variable that is wrong, whichever plugin reads it (decisions
 * 0.5), and an address that the plugin requires, or that is the gateway's and not its own: that of gRPC.
 */
export function endsStart(plugin: Plugin, failure: unknown): boolean {
  if (!(failure instanceof ListenError)) return namesVariable(failure);
  const rules = listenRules(plugin);
  const isOwn = rules !== undefined && failure.address.variable === listenVariable(plugin, rules);
  return !isOwn || rules.isRequired === true;
}

function listenAddress(plugin: Plugin, config: Readonly<Record<string, unknown>>): Address | undefined {
  const rules = listenRules(plugin);
  if (rules === undefined) return undefined;
  const variable = listenVariable(plugin, rules);
  const address = config[rules.field] as HostAndPort | undefined;
  return address && { ...address, variable };
}

/**
 * What a plugin keeps in the database, under its name.
 *
 * @param others the plugins that there are
 * @throws Error where a plugin has a name that this one had before, or gateway.yaml still has its entry under that
 * name: it would be ignored.
 */
export function registrationOf(
  plugin: Plugin,
  desired: Desired,
  others: ReadonlyMap<string, Plugin>,
): Registration {
  const { name, formerly = [], entities = [], migrations = [] } = plugin;
  for (const former of formerly) {
    if (former === name || others.has(former))
      throw new Error(`${name} was called ${former} before, says "formerly", and ${former} is here as well`);
    if (!desired.plugins.has(former) || desired.plugins.has(name)) continue;
    const [place, message] = [
      `plugins.${former}`,
      `the plugin is called ${name} now: call its entry plugins.${name}`,
    ];
    throw new ConfigurationError([{ name: place, message, ...desired.locate(['plugins', former]) }]);
  }
  return { owner: name, formerly, entities, migrations };
}
