import { registerHooks } from 'node:module';

/** The modules that a plugin may import by the gateway's own name. */
const MODULES: Readonly<Record<string, string>> = {
  'agent-gateway': new URL('../index.ts', import.meta.url).href,
  'agent-gateway/testing': new URL('../testing/index.ts', import.meta.url).href,
};

/** This package's own files find themselves through `exports` of package.json. */
const ROOT = new URL('../..', import.meta.url).href;

let isRegistered = false;

/**
 * Makes `agent-gateway` mean this very kernel in plugin folders outside the package, and lets them use its npm packages
 * where they have none of their own (`typebox`). There is one kernel instance, whatever a folder's own node_modules hold.
 * Registered once per process, before the first such folder is imported.
 */
export function resolveKernelForPlugins(): void {
  if (isRegistered) return;
  isRegistered = true;
  registerHooks({
    resolve: (specifier, context, next) => {
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
    },
  });
}

function isPackage(specifier: string): boolean {
  return !specifier.startsWith('.') && !specifier.startsWith('/') && !specifier.includes(':');
}
