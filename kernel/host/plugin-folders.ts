import { codeFingerprint } from './code-fingerprint.ts';
import { type Discovered, loadPlugin, type Unloaded } from './load-plugin.ts';
import { findPluginSources, type PluginSource } from './plugin-source.ts';

/** The folders of plugins, and the code in them. */
export class PluginFolders {
  readonly folders: readonly string[];
  readonly #generations = new Map<string, number>();
  readonly #imported = new Map<string, string | undefined>();

  constructor(folders: readonly string[]) {
    this.folders = folders;
  }

  /** What is there now, by name. @throws Error naming a folder that cannot be read. */
  sources(): Promise<ReadonlyMap<string, PluginSource>> {
    return findPluginSources(this.folders);
  }

  /** Imports the plugins that may run, side by side. One that cannot be loaded is reported and hinders no other. */
  async loadAll(mayRun: (name: string) => boolean = () => true): Promise<readonly (Discovered | Unloaded)[]> {
    const sources = [...(await this.sources()).values()];
    return Promise.all(
      sources.map(async (source) => {
        if (mayRun(source.name) || source.takenBy !== undefined) return this.#import(source);
        // Known, so that it is no new folder.
        this.#imported.set(source.name, await codeFingerprint(source.folder));
        return { name: source.name, folder: source.folder };
      }),
    );
  }

  /** Imports a plugin's code anew; `undefined` when no folder holds it. */
  async load(name: string): Promise<Discovered | undefined> {
    const source = (await this.sources()).get(name);
    return source && this.#import(source);
  }

  /** True when the code is not what was imported last. */
  async isEdited(name: string): Promise<boolean> {
    const source = (await this.sources()).get(name);
    return source !== undefined && (await codeFingerprint(source.folder)) !== this.#imported.get(name);
  }

  /** The state of each plugin's code when it was imported last (see `codeFingerprint`). */
  imported(): ReadonlyMap<string, string | undefined> {
    return this.#imported;
  }

  /** How often the code of each plugin was imported. Node keeps every generation until the process ends. */
  generations(): ReadonlyMap<string, number> {
    return this.#generations;
  }

  async #import(source: PluginSource): Promise<Discovered> {
    // Before the import: what is edited meanwhile counts as edited.
    this.#imported.set(source.name, await codeFingerprint(source.folder));
    const generation = this.#generations.get(source.name) ?? 0;
    this.#generations.set(source.name, generation + 1);
    return loadPlugin(source, generation);
  }
}
