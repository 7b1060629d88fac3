import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ExecutionContext } from 'ava';

/** The files of a plugin by path, as texts. */
export type PluginFiles = Readonly<Record<string, string>>;

/** A folder of plugins outside the package. */
export interface PluginFolder {
  readonly path: string;
  /** Writes a plugin beside, and moves it in whole. */
  drop(name: string, files: PluginFiles): Promise<void>;
  /** Saves files of a plugin where they are. */
  save(name: string, files: PluginFiles): Promise<void>;
  remove(name: string): Promise<void>;
}

/** An empty folder that goes with the test. */
export async function pluginFolder(t: ExecutionContext): Promise<PluginFolder> {
  const root = await mkdtemp(path.join(tmpdir(), 'gateway-hot-'));
  t.teardown(() => rm(root, { recursive: true, force: true }));
  const folder = path.join(root, 'plugins');
  await mkdir(folder);
  const write = async (directory: string, files: PluginFiles) => {
    for (const [name, text] of Object.entries(files)) {
      const file = path.join(directory, name);
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, text);
    }
  };
  return {
    path: folder,
    async drop(name, files) {
      const staging = path.join(root, `staging-${name}`);
      await write(staging, files);
      await rename(staging, path.join(folder, name));
    },
    save: (name, files) => write(path.join(folder, name), files),
    remove: (name) => rm(path.join(folder, name), { recursive: true }),
  };
}
