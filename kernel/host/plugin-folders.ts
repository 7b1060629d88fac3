import { codeFingerprint } from '../../foundation/code/code-fingerprint.ts';
import { type CodeSource, findSources, importSource } from '../../foundation/code/code-sources.ts';
import { declaredSources, type PackageRule } from '../../foundation/code/declared-sources.ts';
import { definitionProblem } from '../../foundation/code/definition-form.ts';
import { importFailure } from '../../foundation/code/import-problem.ts';
import { restOf } from '../../foundation/config/desired.ts';
import { type GatewayFile, parseGatewayFile } from '../../foundation/config/gateway-file.ts';
import type { KernelSettings } from '../../foundation/config/kernel-settings.ts';
import type { Plugin } from '../api/plugin.ts';
import { BUNDLED_PLUGINS, KERNEL_VERSION } from '../version.ts';
import { ownerOf, withNeeded } from './needed-plugins.ts';

/** The folders of plugins and the packages that gateway.yaml names, and the code in them. */
export class PluginFolders {
  readonly folders: readonly string[];
  readonly #rule: PackageRule;
  #declaring: GatewayFile = parseGatewayFile('gateway.yaml', undefined);
  readonly #generations = new Map<string, number>();
  /** By folder: a plugin that gateway.yaml moves is imported before it is declared. */
  readonly #imported = new Map<string, readonly [name: string, print: string | undefined]>();

  constructor(
    folders: readonly string[],
    rule: PackageRule = { production: false, pluginPackages: undefined },
  ) {
    this.folders = folders;
    this.#rule = rule;
  }

  /** The bundled plugins, and those that the settings add. */
  static of(settings: KernelSettings): PluginFolders {
    return new PluginFolders([BUNDLED_PLUGINS, ...settings.pluginDirs], settings);
  }

  /** From now on the packages that this file names are there. */
  declare(file: GatewayFile): void {
    this.#declaring = file;
  }

  /** What is there now, by name, with the packages that `file` names. @throws Error naming an unreadable folder. */
  async sources(file: GatewayFile = this.#declaring): Promise<ReadonlyMap<string, CodeSource>> {
    const sources = new Map(await findSources(this.folders));
    for (const [name, source] of await declaredSources(file, this.#rule)) {
      const first = sources.get(name);
      if (first === undefined) sources.set(name, source);
      else sources.set(`${name} (${source.folder})`, { ...source, takenBy: first.folder });
    }
    return sources;
  }

  /**
   * Imports the plugins that may run, side by side, then those that they need. One that cannot be loaded is reported
   * and hinders no other. `only` is `SVC_PLUGINS`; `leftOut` crashed too often.
   */
  async loadAll(
    file = this.#declaring,
    only: readonly string[] = [],
    leftOut: ReadonlyMap<string, unknown> = new Map(),
  ): Promise<readonly (Discovered | Unloaded)[]> {
    this.declare(file);
    const sources = [...(await this.sources()).values()];
    const mayRun = (name: string, among: readonly string[]) =>
      restOf(name, file, among) === undefined && !leftOut.has(name);
    const found: (Discovered | Unloaded)[] = await Promise.all(
      sources.map(async (source) => {
        if (mayRun(source.name, only) || source.takenBy !== undefined) return this.#import(source);
        // Known, so that it is no new folder.
        this.#imported.set(source.folder, [source.name, await codeFingerprint(source.folder)]);
        return { name: source.name, folder: source.folder };
      }),
    );
    for (;;) {
      const { missing } = withNeeded(only, pluginsOf(found));
      const owners = new Set(missing.map(ownerOf));
      const lacking = sources.flatMap((source, at) =>
        owners.has(source.name) && isUnloaded(found[at]!) && mayRun(source.name, []) ? [{ source, at }] : [],
      );
      if (lacking.length === 0) return found;
      await Promise.all(
        lacking.map(async ({ source, at }) => {
          found[at] = await this.#import(source);
        }),
      );
    }
  }

  /** Imports a plugin's code again; `undefined` when no folder holds it and `file` names no package of it. */
  async load(name: string, file = this.#declaring): Promise<Discovered | undefined> {
    const source = (await this.sources(file)).get(name);
    return source && this.#import(source);
  }

  /** True when the code is not what was imported last. */
  async isEdited(name: string): Promise<boolean> {
    const { folder } = (await this.sources()).get(name) ?? {};
    return folder !== undefined && (await codeFingerprint(folder)) !== this.#imported.get(folder)?.[1];
  }

  /** The state of each plugin's code when it was imported last (see `codeFingerprint`). */
  imported(): ReadonlyMap<string, string | undefined> {
    return new Map(this.#imported.values());
  }

  /** How often the code of each plugin was imported. Node keeps every generation until the process ends. */
  generations(): ReadonlyMap<string, number> {
    return this.#generations;
  }

  async #import(source: CodeSource): Promise<Discovered> {
    // Before the import: what is edited meanwhile counts as edited.
    this.#imported.set(source.folder, [source.name, await codeFingerprint(source.folder)]);
    const generation = this.#generations.get(source.name) ?? 0;
    this.#generations.set(source.name, generation + 1);
    return loadPlugin(source, generation);
  }
}

/** A plugin that was found: its definition, or why there is none. */
export type Discovered =
  | {
      readonly name: string;
      readonly folder: string;
      readonly plugin: Plugin;
      /** Counts the times that its code was imported; the first is 0. */
      readonly generation?: number;
    }
  | { readonly name: string; readonly folder: string; readonly error: Error };

/** A plugin whose code was not imported, since it does not run: all that is known is its folder. */
export interface Unloaded {
  readonly name: string;
  readonly folder: string;
}

/** The definitions among what was found. */
export function pluginsOf(found: readonly (Discovered | Unloaded)[]): readonly Plugin[] {
  return found.flatMap((one) => ('plugin' in one ? [one.plugin] : []));
}

function isUnloaded(found: Discovered | Unloaded): boolean {
  return !('plugin' in found) && !('error' in found);
}

const NAME = /^[a-z][a-z0-9-]*$/;
/** Imports a plugin's code (`importSource`). One without a definition of its folder's name comes with its `error`. */
export async function loadPlugin(source: CodeSource, generation: number): Promise<Discovered> {
  const { name, folder, takenBy, declared } = source;
  try {
    if (takenBy !== undefined) throw new Error(`the name is taken by ${takenBy}`);
    if (declared?.problem !== undefined) throw new Error(declared.problem);
    const plugin = checkDefinition(await importSource(source, generation), source);
    const versioned = declared === undefined ? plugin : { version: declared.version, ...plugin };
    return { name, folder, plugin: versioned, generation };
  } catch (cause) {
    return { name, folder, error: importFailure(cause) };
  }
}

function checkDefinition(exported: unknown, { name, declared }: CodeSource): Plugin {
  const problem = definitionProblem(exported, KERNEL_VERSION);
  if (problem !== undefined) throw new Error(problem);
  const plugin = exported as Plugin;
  if (!NAME.test(plugin.name)) throw new Error(`"${plugin.name}" is not a plugin name: use [a-z][a-z0-9-]*`);
  if (plugin.name === name) return plugin;
  throw new Error(
    declared === undefined
      ? `the folder ${name} holds a plugin that calls itself ${plugin.name}: give both one name`
      : `${declared.at}: ${declared.place} is the plugin ${plugin.name}: call its entry plugins.${plugin.name}`,
  );
}
