import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { tellImport } from './import-problem.ts';

/** The modules that a plugin imports by the gateway's own name: of this package, which exports some. */
const MODULES = /^agent-gateway(\/|$)/;

/** This package's own files find themselves through `exports` of package.json. */
const ROOT = new URL('../..', import.meta.url).href;

/**
 * Folders of this package that import it by its own name. Other folders in it hold separate packages: examples, and
 * plugins in the making.
 */
const PARTS = [
  'kernel/',
  'foundation/',
  'plugins/',
  'testing/',
  'cli/',
  'scripts/',
  'test/',
  'node_modules/',
].map((folder) => new URL(folder, ROOT).href);

/** What there is one instance of: no plugin, so no generation of a plugin. */
const OWN = ['kernel/', 'foundation/', 'testing/'].map((folder) => new URL(folder, ROOT).href);

/**
 * Folders of packages that are plugins, as URLs that end in a slash: their modules are a plugin's, although npm has
 * installed them.
 */
const PACKAGES = new Set<string>();

/** True for a file that does not belong to this package: what it imports by the gateway's name needs the hook. */
export function isOutside(file: string): boolean {
  return isForeign(pathToFileURL(file).href);
}

function isForeign(url: string): boolean {
  return !PARTS.some((part) => url.startsWith(part)) || packageOf(url) !== undefined;
}

function packageOf(url: string): string | undefined {
  return PACKAGES.values().find((folder) => url.startsWith(folder));
}

const TYPESCRIPT = /\.m?ts$/;

/**
 * Lets the modules of a package that is a plugin be imported: again for each of its generations, and TypeScript below
 * `node_modules`, where Node strips no types. `folder` is its real path.
 */
export function admitPackage(folder: string): void {
  if (PACKAGES.size === 0) {
    registerHooks({
      load: (url, context, next) => {
        const { pathname } = new URL(url);
        const isStripped = TYPESCRIPT.test(pathname) && isInstalled(url) && packageOf(url) !== undefined;
        if (!isStripped) return next(url, context);
        const source = stripTypeScriptTypes(readFileSync(fileURLToPath(url), 'utf8'));
        return { format: 'module', source, shortCircuit: true };
      },
    });
  }
  PACKAGES.add(`${pathToFileURL(folder).href}/`);
}

function isInstalled(url: string): boolean {
  return url.includes('/node_modules/');
}

/** The query by which a module of one generation differs from the same module of another. */
const GENERATION = 'generation';

let isRegistered = false;

/**
 * Makes `agent-gateway` mean this very kernel in plugin folders outside the package, and lets them use its npm packages
 * where they have none of their own (`typebox`). There is one kernel instance, whatever a folder's own node_modules
 * hold. A module that was imported as a generation hands it on to all that it imports, but the kernel and npm packages.
 * Registered once per process, before the first such folder or generation is imported: every import passes through it
 * from then on, which costs.
 */
export function resolveKernelForPlugins(): void {
  if (isRegistered) return;
  isRegistered = true;
  registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = resolveTold(specifier, context, next);
      const generation = generationOf(context.parentURL);
      if (generation === undefined || !isPluginCode(resolved.url)) return resolved;
      return { ...resolved, url: ofGeneration(resolved.url, generation) };
    },
  });
}

/** The URL under which a module and all that it imports are read again. */
export function ofGeneration(url: string, generation: number | string): string {
  const generated = new URL(url);
  generated.searchParams.set(GENERATION, String(generation));
  return generated.href;
}

type Resolve = NonNullable<Parameters<typeof registerHooks>[0]['resolve']>;

const resolveTold = (...[specifier, context, next]: Parameters<Resolve>): ReturnType<Resolve> => {
  // Node changes the context when it is asked from elsewhere.
  const { parentURL } = context;
  try {
    return resolveOutside(specifier, context, next);
  } catch (failure) {
    if (parentURL !== undefined && isForeign(parentURL)) tellImport(failure, specifier, parentURL, ROOT);
    throw failure;
  }
};

const resolveOutside = (...[specifier, context, next]: Parameters<Resolve>): ReturnType<Resolve> => {
  if (context.parentURL === undefined || !isForeign(context.parentURL)) return next(specifier, context);
  // As this package exports it.
  if (MODULES.test(specifier)) return next(specifier, { ...context, parentURL: import.meta.url });
  try {
    return next(specifier, context);
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND' || !isPackage(specifier))
      throw failure;
    try {
      return next(specifier, { ...context, parentURL: import.meta.url });
    } catch {
      // Neither has it: what the plugin's own place says names the plugin's file.
      throw failure;
    }
  }
};

function generationOf(parent: string | undefined): string | undefined {
  if (parent === undefined || !parent.includes(`${GENERATION}=`)) return undefined;
  return URL.parse(parent)?.searchParams.get(GENERATION) ?? undefined;
}

function isPluginCode(url: string): boolean {
  if (!url.startsWith('file:') || OWN.some((folder) => url.startsWith(folder))) return false;
  // What a package that is a plugin has installed below itself is no plugin's own.
  return !isInstalled(url.slice((packageOf(url)?.length ?? 1) - 1));
}

function isPackage(specifier: string): boolean {
  return !specifier.startsWith('.') && !specifier.startsWith('/') && !specifier.includes(':');
}
