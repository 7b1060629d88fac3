/** The features that a new plugin may have, each with the features that it needs. */
export const FEATURES: Readonly<Record<string, readonly string[]>> = {
  table: [],
  routes: ['table'],
  grpc: ['table'],
  kind: ['table'],
  job: ['table'],
  tool: [],
  'node-type': [],
  page: [],
};

/** The features of a plugin without `--with`. */
const USUAL = ['routes', 'table', 'grpc', 'kind'];

/** The feature to which a file or folder of the template belongs; all other files belong to every plugin. */
const OWNERS: Readonly<Record<string, string>> = {
  'config.ts': 'table',
  'contract.ts': 'table',
  services: 'table',
  store: 'table',
  routes: 'routes',
  grpc: 'grpc',
  proto: 'grpc',
  kinds: 'kind',
  jobs: 'job',
  tools: 'tool',
  'node-types': 'node-type',
  pages: 'page',
};

/**
 * The features that `--with` names, with those that they need.
 *
 * @throws Error for an unknown feature
 */
export function chosenFeatures(list: string | undefined): ReadonlySet<string> {
  const named = list === undefined ? USUAL : list.split(',').map((name) => name.trim());
  const unknown = named.find((name) => !Object.hasOwn(FEATURES, name));
  if (unknown !== undefined)
    throw new Error(`--with knows no ${unknown || 'nothing'}: choose of ${Object.keys(FEATURES).join(', ')}`);
  return new Set(named.flatMap((name) => [name, ...FEATURES[name]!]));
}

/** Whether a file or folder of the template is part of a plugin with these features. */
export function isPart(name: string, features: ReadonlySet<string>): boolean {
  const owner = OWNERS[name];
  return owner === undefined || features.has(owner);
}

/**
 * The text without the parts of other features, which stand between `//#if <feature>` and `//#else` or `//#end`.
 * Imports of TypeScript that are then unused are removed as well.
 */
export function withFeatures(text: string, features: ReadonlySet<string>, isTypeScript: boolean): string {
  const open: boolean[] = [];
  const lines = text.split('\n').filter((line) => {
    const [, verb, feature = ''] = /^\s*\/\/#(if|else|end)(?: (\S+))?$/.exec(line) ?? [];
    if (verb === 'if') open.push(features.has(feature));
    else if (verb === 'else') open.push(!open.pop());
    else if (verb === 'end') open.pop();
    return verb === undefined && open.every(Boolean);
  });
  const kept = lines
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .replace(/\n+$/, '\n');
  return isTypeScript ? withoutIdleImports(kept) : kept;
}

function withoutIdleImports(text: string): string {
  return text.replaceAll(
    /^(import (?:type )?)\{ (.*) \} from (.*);\n/gm,
    (line, begin: string, names: string, from: string) => {
      const rest = text.replace(line, '');
      const used = names
        .split(', ')
        .filter((name) => new RegExp(`\\b${name.replace(/^type /, '')}\\b`).test(rest));
      return used.length === 0 ? '' : `${begin}{ ${used.join(', ')} } from ${from};\n`;
    },
  );
}
