import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { publicDeclarations } from '../../../scripts/generate/public-declarations.ts';
import { publicContract } from '../../../scripts/generate/reference/contract.ts';
import { referenceFiles } from '../../../scripts/generate/reference.ts';

const MANIFEST = {
  name: 'agent-gateway',
  type: 'module',
  exports: {
    '.': './kernel/index.ts',
    './contracts/shop': './plugins/shop/contract.ts',
    './tsconfig.json': './tsconfig.json',
  },
};

/** Without the types of Node, which take long to read. */
const COMPILER = {
  target: 'es2024',
  module: 'nodenext',
  lib: ['es2024'],
  types: [],
  strict: true,
  noEmit: true,
};

const PACKAGE = {
  'package.json': JSON.stringify(MANIFEST),
  'tsconfig.json': JSON.stringify({ compilerOptions: { ...COMPILER, allowImportingTsExtensions: true } }),
  'kernel/index.ts': `
    export type { Call, CallSource } from './api/call.ts';
    export { route } from './api/route.ts';
    export { RouteErrors } from '../foundation/base/error-catalogue.ts';`,
  'kernel/api/call.ts': `
    /** Who calls (specification 1, Calls), as \`<plugin>.<name>\`, or <nobody>. */
    export interface Call {
      /** Of the request. */
      readonly id: string;
      /**
       * Reads the body.
       *
       * @throws RangeError when it is too long
       */
      read(options?: {
        /** Bytes. */
        readonly limit?: number;
      }): Hidden;
      readonly source: CallSource;
    }
    /** What reading gives. */
    interface Hidden { readonly text: string }
    /** Over what it came. */
    export type CallSource = 'http' | 'grpc';`,
  'kernel/api/route.ts': `
    import type { Call } from './call.ts';
    /**
     * Declares a route.
     *
     * @param path begins with a slash
     * @example
     * route('/v1', () => 1);
     */
    export function route(path: string, handle: (call: Call) => unknown): void { void [path, handle]; }`,
  'foundation/base/error-catalogue.ts': `
    const made = Object.assign(() => new Error(), { definition: { code: 'route.gone', kind: 'gone' as const, title: 'It is gone' } });
    /** What can go wrong. */
    export const RouteErrors = { gone: made };`,
  'plugins/shop/contract.ts': `
    export type { Call } from '../../kernel/index.ts';
    /**
     * What is sold.
     *
     * @example GOODS.includes('tea')
     */
    export const GOODS = ['tea'] as const;`,
};

/** The contract of a package with these files, and the text of its pages by their names. */
async function referenceOf(t: ExecutionContext, changes: Partial<typeof PACKAGE> = {}) {
  const root = await mkdtemp(path.join(tmpdir(), 'reference-test-'));
  t.teardown(() => rm(root, { recursive: true, force: true }));
  for (const [file, text] of Object.entries({ ...PACKAGE, ...changes })) {
    await mkdir(path.dirname(path.join(root, file)), { recursive: true });
    await writeFile(path.join(root, file), text);
  }
  const contract = publicContract(publicDeclarations(root), root);
  const catalogues = new Map([
    ['RouteErrors', new Map([['gone', { code: 'route.gone', kind: 'gone' as const, title: 'It is gone' }]])],
  ]);
  const files = referenceFiles(contract, catalogues);
  const pages = new Map(files.map((file) => [path.basename(file.path, '.md'), file.render('')]));
  return { problems: contract.problems, pages };
}

test('a name has its signature, its docblock and those of its members, and links to what it mentions', async (t) => {
  const { problems, pages } = await referenceOf(t);
  t.deepEqual(problems, []);
  const page = pages.get('http') ?? '';
  for (const text of [
    'Who calls, as `<plugin>.<name>`, or &lt;nobody>.\n',
    '`interface Call`\n',
    '- `id: string`: Of the request.\n',
    '- `read(options?: { limit?: number; }): Hidden`: Reads the body. **Throws** RangeError when it is too long.\n  - `limit?: number`: Bytes.\n',
    '- `source: CallSource`\n',
    "type CallSource = 'http' | 'grpc';",
    'function route(path: string, handle: (call: Call) => unknown): void;',
    '- `path`: begins with a slash\n',
    "```ts\nroute('/v1', () => 1);\n```",
    '[kernel/api/route.ts](../../kernel/api/route.ts) · [Call](#call)',
  ]) {
    t.true(page.includes(text), `${text}\n----\n${page}`);
  }
});

test('a type that is mentioned without being exported stands at the end of the page', async (t) => {
  const page = (await referenceOf(t)).pages.get('http') ?? '';
  const [exported = '', mentioned = ''] = page.split('## Mentioned above');
  t.true(exported.includes('[Hidden](#hidden)'));
  t.true(mentioned.includes('### Hidden\n\nWhat reading gives.\n\n`interface Hidden`\n\n- `text: string`\n'));
});

test('a catalogue of errors is a table of its codes', async (t) => {
  const page = (await referenceOf(t)).pages.get('errors') ?? '';
  t.true(page.includes('| `gone` | `route.gone` | gone | It is gone |'));
});

test('a module that exports what another one declares links to it, and the first page has every name', async (t) => {
  const { pages } = await referenceOf(t);
  const shop = pages.get('contracts-shop') ?? '';
  t.true(shop.includes('Import from `agent-gateway/contracts/shop`.'));
  t.true(shop.includes('Also exported here: [Call](http.md#call).'));
  t.false(shop.includes('Who calls'));
  t.true(shop.includes("```ts\nGOODS.includes('tea')\n```"), shop);
  for (const link of ['[Call](http.md#call)', '[route](http.md#route)', '[GOODS](contracts-shop.md#goods)'])
    t.true(pages.get('README')?.includes(link), link);
});

test('an export without a docblock, and one that has no page, is a problem with file and line', async (t) => {
  const { problems } = await referenceOf(t, {
    'kernel/index.ts': `${PACKAGE['kernel/index.ts']}\nexport { later } from './later.ts';`,
    'kernel/later.ts': '/** Later. */\nexport const later = 1;',
    'kernel/api/route.ts': '\n\nexport function route(path: string): void { void path; }',
  } as Partial<typeof PACKAGE>);
  t.deepEqual(problems, [
    'kernel/api/route.ts:3: route, which agent-gateway exports, has no docblock',
    'kernel/later.ts:2: later, which agent-gateway exports, belongs to no page of the reference (scripts/generate/reference/pages.ts)',
  ]);
});

test('equal code gives an equal reference', async (t) => {
  t.deepEqual((await referenceOf(t)).pages, (await referenceOf(t)).pages);
});
