import { existsSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { bundledModules } from './bundled-packages.ts';

const ROOT = new URL('../..', import.meta.url).href;
const KERNEL = new URL('kernel/index.ts', ROOT).href;
/** This package's own code, but for generations of plugins. */
const OWN = /^(?:kernel|foundation|plugins|testing|cli|scripts|test)\/(?!.*(?:\/node_modules\/|\?))/;

/**
 * Makes imports cheaper for the whole process, which is what a start consists of. npm packages come from their bundles,
 * and whoever imports one gets the same instance of it, by whatever name. Own files that own files import by a relative
 * path are what that path says: Node would look at each folder of it for links and a `package.json`.
 */
export function quickenImports(): void {
  const bundles = bundledModules();
  const files = new Set<string>();

  /** The file that an own one imports; `undefined` where it is another kind of import, or leads nowhere. */
  function ownFile(specifier: string, parent: string | undefined): string | undefined {
    if (parent === undefined || !parent.startsWith(ROOT) || !OWN.test(parent.slice(ROOT.length)))
      return undefined;
    const isRelative = specifier.startsWith('.') && specifier.endsWith('.ts');
    if (!isRelative && specifier !== 'agent-gateway') return undefined;
    const url = isRelative ? new URL(specifier, parent).href : KERNEL;
    if (files.has(url)) return url;
    if (!existsSync(fileURLToPath(url))) return undefined;
    files.add(url);
    return url;
  }

  registerHooks({
    resolve: (specifier, context, next) => {
      const file = ownFile(specifier, context.parentURL);
      if (file !== undefined) return { url: file, format: 'module-typescript', shortCircuit: true };
      const resolved = next(specifier, context);
      const bundled = bundles.get(resolved.url);
      if (bundled === undefined) return resolved;
      // To `require` a module of CommonJS is another value than to `import`.
      if (bundled.isCommonJs && !context.conditions.includes('import')) return resolved;
      return { url: bundled.url, format: 'module', shortCircuit: true };
    },
  });
}
