import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';

/** The modules that a plugin may import by the gateway's own name. */
const MODULES: Readonly<Record<string, string>> = {
  'agent-gateway': new URL('../index.ts', import.meta.url).href,
  'agent-gateway/testing': new URL('../../testing/index.ts', import.meta.url).href,
};

/** This package's own files find themselves through `exports` of package.json. */
const ROOT = new URL('../..', import.meta.url).href;

/** What there is one instance of: no plugin, so no generation of a plugin. */
const OWN = ['kernel/', 'foundation/', 'testing/'].map((folder) => new URL(folder, ROOT).href);

/** True for a file that does not belong to this package: what it imports by the gateway's name needs the hook. */
export function isOutside(file: string): boolean {
  return !pathToFileURL(file).href.startsWith(ROOT);
}

/** The query by which a module of one generation differs from the same module of another. */
const GENERATION = 'generation';

let isRegistered = false;

/**
 * Makes `agent-gateway` mean this very kernel in plugin folders outside the package, and lets them use its npm packages
 * where they have none of their own (`typebox`). There is one kernel instance, whatever a folder's own node_modules hold.
 * A module that was imported as a generation hands it on to all that it imports, but the kernel and npm packages.
 * Registered once per process, before the first such folder or generation is imported: every import passes through it from
 * then on, which costs.
 */
export function resolveKernelForPlugins(): void {
  if (isRegistered) return;
  isRegistered = true;
  registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = resolveOutside(specifier, context, next);
      const generation = generationOf(context.parentURL);
      if (generation === undefined || !isPluginCode(resolved.url)) return resolved;
      return { ...resolved, url: ofGeneration(resolved.url, generation) };
    },
  });
}

/** The URL under which a module and all that it imports are read anew. */
export function ofGeneration(url: string, generation: number | string): string {
  const anew = new URL(url);
  anew.searchParams.set(GENERATION, String(generation));
  return anew.href;
}

type Resolve = NonNullable<Parameters<typeof registerHooks>[0]['resolve']>;

const resolveOutside = (...[specifier, context, next]: Parameters<Resolve>): ReturnType<Resolve> => {
  const isOutside = context.parentURL !== undefined && !context.parentURL.startsWith(ROOT);
  if (!isOutside) return next(specifier, context);
  const own = MODULES[specifier];
  if (own !== undefined) return { url: own, shortCircuit: true };
  try {
    return next(specifier, context);
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND' || !isPackage(specifier))
      throw failure;
    return next(specifier, { ...context, parentURL: import.meta.url });
  }
};

function generationOf(parent: string | undefined): string | undefined {
  if (parent === undefined || !parent.includes(`${GENERATION}=`)) return undefined;
  return URL.parse(parent)?.searchParams.get(GENERATION) ?? undefined;
}

function isPluginCode(url: string): boolean {
  return (
    url.startsWith('file:') &&
    !url.includes('/node_modules/') &&
    !OWN.some((folder) => url.startsWith(folder))
  );
}

function isPackage(specifier: string): boolean {
  return !specifier.startsWith('.') && !specifier.startsWith('/') && !specifier.includes(':');
}
