/** The parts of the repository's `package.json` from which the package's own is made. */
interface RepositoryManifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/**
 * The `package.json` of the package that is installed: the same names and exports, of JavaScript and declarations.
 *
 * @param imported the packages that the declarations import: for one that ships no types, its `@types` package is
 * installed too
 */
export function packageManifest(repository: RepositoryManifest, imported: ReadonlySet<string>): object {
  const { name, version, description, license, bin, exports, dependencies, devDependencies } = repository;
  const types = Object.entries(devDependencies).filter(
    ([types]) => types === '@types/node' || imported.has(types.replace('@types/', '')),
  );
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    bin,
    exports: Object.fromEntries(
      Object.entries(exports).map(([entry, file]) => [entry, file.endsWith('.ts') ? compiled(file) : file]),
    ),
    engines: { node: '>=24' },
    dependencies: Object.fromEntries(
      [...Object.entries(dependencies), ...types].sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  };
}

function compiled(file: string): object {
  return { types: file.replace(/\.ts$/, '.d.ts'), default: file.replace(/\.ts$/, '.js') };
}
