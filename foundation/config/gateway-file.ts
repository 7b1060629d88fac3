import { isSystemError, readTextFile } from '../base/durable-file.ts';
import { isJsonObject } from '../base/json-object.ts';
import { didYouMean } from '../base/nearest-name.ts';
import { Type } from '../base/type.ts';
import { ConfigurationError, type ConfigurationProblem, fileError } from './configuration-error.ts';
import { field } from './field.ts';
import { type ConfigSources, decodeConfig, type Environment, type SourcePlace } from './read-config.ts';
import { parseYaml, type YamlSource } from './yaml-source.ts';

/** `abort`: the gateway does not start without the plugin. `continue`: it serves the others and reports the failure. */
export type OnFailure = 'abort' | 'continue';

/** What gateway.yaml says about one plugin. */
export interface PluginEntry {
  readonly enabled: boolean;
  /** The npm package that the plugin is; undefined: it lies in a folder of plugins, or at `path`. */
  readonly package: string | undefined;
  /** The folder of its code, as it was written: relative to the file's own. */
  readonly path: string | undefined;
  /** The plugin's configuration as it stands in the file, not checked yet; `pluginSources` hands it to `readConfig`. */
  readonly config: Readonly<Record<string, unknown>> | undefined;
  /** Undefined: what the plugin itself declares. */
  readonly onFailure: OnFailure | undefined;
  /** Milliseconds; undefined: the gateway's own drain time. */
  readonly drainTimeout: number | undefined;
}

/** A gateway.yaml that was read. */
export interface GatewayFile {
  readonly path: string;
  /** False when there is no file: all defaults. */
  readonly exists: boolean;
  /** By plugin name; a plugin without an entry has `defaultEntry`. Names of plugins that do not exist are kept. */
  readonly plugins: ReadonlyMap<string, PluginEntry>;
  /** The line of a place (`['plugins', 'workflow', 'config']`) or of the nearest one around it. */
  locate(path: readonly string[]): SourcePlace;
}

/** The members of a plugin's entry. */
export const PluginEntryFields = Type.Object({
  enabled: field.boolean({ default: true, description: 'Whether the plugin runs' }),
  package: field.string({
    max: 214,
    description:
      'The npm package of the plugin, installed in the folder of this file or above it (`@acme/gateway-plugin-notes`)',
    unset: 'it lies in a folder of plugins',
  }),
  path: field.string({
    min: 1,
    description: "The folder of the plugin's code, relative to this file, in the place of a package",
    unset: 'it lies in a folder of plugins',
  }),
  config: field.mapping({ description: "The plugin's own configuration" }),
  onFailure: field.choice(['abort', 'continue'], {
    description:
      'What a failure at its start means: `abort` stops the gateway, `continue` serves the other plugins',
    unset: 'what the plugin declares',
  }),
  drainTimeout: field.duration({
    max: '24h',
    description: 'Time that its calls in flight get to finish when it stops',
    unset: 'SVC_DRAIN_TIMEOUT',
  }),
});

/** The names that a plugin may have. */
export const PLUGIN_NAME_PATTERN = '^[a-z][a-z0-9-]{0,63}$';

/** Bytes of gateway.yaml that are read at most. */
const MAX_GATEWAY_FILE_BYTES = 256 * 1024;

const PLUGIN_NAME = new RegExp(PLUGIN_NAME_PATTERN);

/** The name of an npm package, with its scope. */
export const PACKAGE_NAME = /^(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

/** What holds for a plugin that gateway.yaml does not mention. */
export const defaultEntry: PluginEntry = Object.freeze({
  enabled: true,
  package: undefined,
  path: undefined,
  config: undefined,
  onFailure: undefined,
  drainTimeout: undefined,
});

/**
 * Reads gateway.yaml. A missing file means all defaults, and so does an empty one; where `inForce` says anything, an
 * empty one is refused: a full disk, or an editor that was held up, leaves such a file. Throws a ConfigurationError
 * with everything that is wrong in it, each with its line, also when the file cannot be read.
 */
export async function loadGatewayFile(path: string, inForce?: GatewayFile): Promise<GatewayFile> {
  return parseGatewayFile(path, await readGatewayText(path), inForce);
}

/** Like `loadGatewayFile`, of a text that was read already; undefined stands for a missing file. */
export function parseGatewayFile(path: string, text: string | undefined, inForce?: GatewayFile): GatewayFile {
  const isEmptied = text?.trim() === '' && inForce !== undefined && inForce.plugins.size > 0;
  if (isEmptied) throw fileError(path, 'is empty; write `plugins: {}` for all defaults, or remove the file');
  const source = parseYaml(path, text ?? '');
  const problems: ConfigurationProblem[] = [];
  const plugins = readPlugins(source, problems);
  if (problems.length > 0) throw new ConfigurationError(problems);
  return { path, exists: text !== undefined, plugins, locate: source.locate };
}

/** The sources of a plugin's configuration for `readConfig`: environment over `plugins.<name>.config` of the file. */
export function pluginSources(file: GatewayFile, name: string, env: Environment): ConfigSources {
  const at = ['plugins', name, 'config'];
  return {
    env,
    file: file.plugins.get(name)?.config,
    at: at.join('.'),
    locate: (path) => file.locate([...at, ...path]),
  };
}

/**
 * The text of the file; undefined when there is none. Throws a ConfigurationError when it is unreadable or too large.
 */
export async function readGatewayText(path: string): Promise<string | undefined> {
  try {
    const read = await readTextFile(path, MAX_GATEWAY_FILE_BYTES);
    if ('problem' in read) throw fileError(path, read.problem);
    return read.text;
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    if (isSystemError(error)) throw fileError(path, `cannot be read (${error.code})`, error);
    throw error;
  }
}

function readPlugins(
  { value, locate }: YamlSource,
  problems: ConfigurationProblem[],
): ReadonlyMap<string, PluginEntry> {
  const entries = new Map<string, PluginEntry>();
  const root = mappingAt([], value, locate, problems);
  for (const key of Object.keys(root)) {
    if (key === 'plugins') continue;
    const message = `there is no such setting${didYouMean(key, ['plugins'])}`;
    problems.push({ name: key, message, ...locate([key]) });
  }
  const plugins = mappingAt(
    ['plugins'],
    Object.hasOwn(root, 'plugins') ? root.plugins : undefined,
    locate,
    problems,
  );
  for (const [name, file] of Object.entries(plugins)) {
    const at = ['plugins', name];
    if (!PLUGIN_NAME.test(name)) {
      problems.push({ name: at.join('.'), message: 'is not the name of a plugin', ...locate(at) });
      continue;
    }
    const entry = decodeConfig(PluginEntryFields, {
      env: {},
      file,
      at: at.join('.'),
      locate: (path) => locate([...at, ...path]),
    });
    problems.push(...entry.problems);
    const { package: packageName, path } = entry.value as PluginEntry;
    const refuse = (member: string, message: string) =>
      problems.push({ name: [...at, member].join('.'), message, ...locate([...at, member]) });
    if (packageName !== undefined && !PACKAGE_NAME.test(packageName))
      refuse('package', 'is not the name of an npm package');
    else if (packageName !== undefined && path !== undefined)
      refuse('path', 'is where the plugin lies, and so is its package: state one of them');
    entries.set(name, entry.value as PluginEntry);
  }
  return entries;
}

function mappingAt(
  path: readonly string[],
  value: unknown,
  locate: YamlSource['locate'],
  problems: ConfigurationProblem[],
): Record<string, unknown> {
  if (value === undefined || value === null) return {};
  if (isJsonObject(value)) return value;
  problems.push({ name: path.join('.'), message: 'must be a mapping of names to values', ...locate(path) });
  return {};
}
