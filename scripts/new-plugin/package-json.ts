import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const GATEWAY = JSON.parse(
  readFileSync(fileURLToPath(new URL('../../package.json', import.meta.url)), 'utf8'),
) as {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
};

/** What to write. */
export interface NewPlugin {
  readonly name: string;
  /** The folder in which a package of it is written; undefined: it is one of the bundled plugins. */
  readonly dir: string | undefined;
  readonly features: ReadonlySet<string>;
  /** Scope of the package's name, `@acme`. */
  readonly scope?: string | undefined;
  /** The tarball of the package `agent-gateway` that it is developed with; undefined: it comes from the registry. */
  readonly gateway?: string | undefined;
}

const SCOPE = /^@[a-z0-9~-][a-z0-9._~-]*$/;

/**
 * The `package.json` of a plugin that is a package of its own.
 *
 * @throws Error for an invalid scope
 */
export function packageJson({ name, features, scope, gateway }: NewPlugin) {
  if (scope !== undefined && !SCOPE.test(scope)) throw new Error(`"${scope}" is not a scope, like @acme`);
  const { dependencies, devDependencies } = GATEWAY;
  const [major, minor] = GATEWAY.version.split('.');
  const assets = features.has('grpc')
    ? ` && node -e "fs.cpSync('proto', 'dist/proto', { recursive: true })"`
    : '';
  return {
    name: `${scope === undefined ? '' : `${scope}/`}gateway-plugin-${name}`,
    version: '0.1.0',
    description: `The plugin ${name} of agent-gateway`,
    license: 'Apache-2.0',
    keywords: ['agent-gateway-plugin'],
    type: 'module',
    exports: {
      '.': entry('plugin'),
      ...(features.has('table') ? { './contract': entry('contract') } : {}),
      './package.json': './package.json',
    },
    files: ['dist'],
    scripts: {
      types: 'tsc --noEmit',
      test: 'node --test',
      check: 'npm run types && npm test',
      build: `node -e "fs.rmSync('dist', { recursive: true, force: true })" && tsc -p tsconfig.build.json${assets}`,
      prepack: 'npm run build',
    },
    engines: { node: '>=24' },
    peerDependencies: {
      // With -0 a prerelease of that version counts as well.
      'agent-gateway': `^${major}.${minor}.0-0`,
      typebox: `^${dependencies.typebox}`,
    },
    devDependencies: {
      '@types/node': `^${devDependencies['@types/node']}`,
      ...(gateway === undefined ? {} : { 'agent-gateway': `file:${path.resolve(gateway)}` }),
      // An older Node of the machine would find no tests in TypeScript, and say that all went well.
      node: `^${devDependencies.node}`,
      typescript: `^${devDependencies.typescript}`,
    },
    allowScripts: { node: true },
  };
}

function entry(file: string) {
  return { types: `./dist/${file}.d.ts`, default: `./dist/${file}.js` };
}
