import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** Where npm has installed the packages of this one. */
export const INSTALLED = path.resolve(import.meta.dirname, '../../node_modules');
/** Where `npm run bundle` puts what it makes of them: a file for each module of the manifest, and what these share. */
export const BUNDLES = path.join(INSTALLED, '.cache/packages');
export const MANIFEST = path.join(BUNDLES, 'manifest.json');

/** What has been bundled. Paths are relative to `node_modules`. */
export interface Manifest {
  /** The `package.json` of each package that is entered. */
  readonly packages: readonly string[];
  /** What `digestOf` said of them. */
  readonly digest: string;
  /** By the module that a package is entered by, what is loaded in its place. */
  readonly modules: Readonly<Record<string, BundledModule>>;
}

export interface BundledModule {
  readonly file: string;
  /** A module of CommonJS is another value to `require` than to `import`, and is bundled for `import` alone. */
  readonly isCommonJs: boolean;
}

/**
 * Differs when another version of one of them is installed, or the lock file says something else of what they use.
 * Throws when one is not installed any more.
 */
export function digestOf(packages: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of [...packages, '../package-lock.json'])
    hash.update(readFileSync(path.join(INSTALLED, file)));
  return hash.digest('base64url');
}

/**
 * Loads npm packages from the files that `npm run bundle` has made of them: some thirty, where the packages have eight
 * hundred, each of which costs a third of a millisecond at a start. Whoever imports such a package gets the same
 * instance of it, by whatever name. Without these files, or when they were made of other versions, the packages are
 * loaded as they are.
 */
export function useBundledPackages(): void {
  const manifest = currentManifest();
  if (manifest === undefined) return;
  const modules = new Map(
    Object.entries(manifest.modules).map(([module, { file, isCommonJs }]) => [
      pathToFileURL(path.join(INSTALLED, module)).href,
      { url: pathToFileURL(path.join(BUNDLES, file)).href, isCommonJs },
    ]),
  );
  registerHooks({
    resolve: (specifier, context, next) => {
      const resolved = next(specifier, context);
      const bundled = modules.get(resolved.url);
      if (bundled === undefined) return resolved;
      if (bundled.isCommonJs && !context.conditions.includes('import')) return resolved;
      return { url: bundled.url, format: 'module', shortCircuit: true };
    },
  });
}

function currentManifest(): Manifest | undefined {
  try {
    const manifest = JSON.parse(readFileSync(MANIFEST, 'utf8')) as Manifest;
    return digestOf(manifest.packages) === manifest.digest ? manifest : undefined;
  } catch {
    // Never made, or of packages that are gone.
    return undefined;
  }
}
