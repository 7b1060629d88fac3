import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** Where npm has installed the packages of this one. */
export const INSTALLED = path.resolve(import.meta.dirname, '../../node_modules');
/** Where `npm run bundle` puts what it makes of them: a file for each module of the manifest, and what these share. */
export const BUNDLES = path.join(INSTALLED, '.cache/packages');
export const MANIFEST = path.join(BUNDLES, 'manifest.json');

/** What has been bundled. Paths are relative to `node_modules`. */
export interface Manifest {
  /** What `digestOf` said of the modules. */
  readonly digest: string;
  /** By the module that a package is entered by, what is loaded in its place. */
  readonly modules: Readonly<Record<string, BundledModule>>;
}

export interface BundledModule {
  readonly file: string;
  /** A module of CommonJS is another value to `require` than to `import`, and is bundled for `import` alone. */
  readonly isCommonJs: boolean;
}

/** The `package.json` of the package that a module is in; both from `node_modules`. */
export function packageOf(module: string): string {
  const [folder = module] = /^(?:@[^/]+\/)?[^/]+/.exec(module) ?? [];
  return `${folder}/package.json`;
}

/**
 * Differs when another version of a package of these modules is installed, or the lock file says something else of what
 * they use. Throws when one is not installed any more.
 */
export function digestOf(modules: Manifest['modules']): string {
  const hash = createHash('sha256');
  const packages = new Set(Object.keys(modules).map(packageOf));
  for (const file of [...packages, '../package-lock.json'])
    hash.update(readFileSync(path.join(INSTALLED, file)));
  return hash.digest('base64url');
}

/**
 * What is loaded in the place of npm packages, by the URL of the module that a package is entered by: some thirty files
 * that `npm run bundle` has made, where the packages have eight hundred, each of which costs a third of a millisecond
 * at a start. Empty without these files, and where they were made of other versions.
 */
export function bundledModules(): ReadonlyMap<
  string,
  { readonly url: string; readonly isCommonJs: boolean }
> {
  return new Map(
    Object.entries(currentManifest()?.modules ?? {}).map(([module, { file, isCommonJs }]) => [
      pathToFileURL(path.join(INSTALLED, module)).href,
      { url: pathToFileURL(path.join(BUNDLES, file)).href, isCommonJs },
    ]),
  );
}

function currentManifest(): Manifest | undefined {
  try {
    const manifest = JSON.parse(readFileSync(MANIFEST, 'utf8')) as Manifest;
    return digestOf(manifest.modules) === manifest.digest ? manifest : undefined;
  } catch {
    // Never made, or of packages that are gone.
    return undefined;
  }
}
