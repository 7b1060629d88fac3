import { existsSync, readFileSync } from 'node:fs';
import { messageOf } from '../base/failure.ts';
import { didYouMean } from '../base/nearest-name.ts';

/** Endings that a relative import of TypeScript that runs as it is may lack, or have in the place of another. */
const ENDINGS = [
  [/$/, '.ts'],
  [/\.js$/, '.ts'],
  [/\/?$/, '/index.ts'],
] as const;
const GATEWAY = 'agent-gateway';
/** A type is no export at run time; types and classes begin with an upper-case letter. */
const TYPE = /does not provide an export named '([A-Z]\w*)'$/;

/**
 * Says more of an import that leads nowhere: its line, since Node names the file alone, and what was probably meant.
 *
 * @param parent URL of the module that imports
 * @param own the folder of the gateway's package, as a URL that ends in a slash
 */
export function tellImport(failure: unknown, specifier: string, parent: string, own: string): void {
  if (!(failure instanceof Error)) return;
  if (specifier.startsWith(`${GATEWAY}/`)) {
    const known = exportsOf(own);
    failure.message = `${specifier} is no module of the gateway${didYouMean(specifier, known)} It has ${known.join(', ')}`;
  } else if (specifier.startsWith('.')) {
    const meant = ENDINGS.map(([end, ending]) => specifier.replace(end, ending));
    const there = meant.find((one) => one !== specifier && existsSync(new URL(one, parent)));
    if (there !== undefined) failure.message += `, did you mean ${there}?`;
  }
  const line = lineOf(specifier, parent);
  if (line !== undefined) failure.stack += `\n    at ${bare(parent)}:${line}`;
}

/** What kept a plugin's code from being imported, with what was probably meant where Node does not say it. */
export function importFailure(cause: unknown): Error {
  if (!(cause instanceof Error)) return new Error(messageOf(cause));
  const [, name] = TYPE.exec(cause.message) ?? [];
  if (name !== undefined) cause.message += `; a type is imported as \`type ${name}\``;
  return cause;
}

function exportsOf(own: string): readonly string[] {
  const { exports } = JSON.parse(readFileSync(new URL('package.json', own), 'utf8'));
  const modules = Object.keys(exports).filter((name) => !name.endsWith('.json'));
  return modules.map((name) => `${GATEWAY}${name.slice(1)}`);
}

/** The first line of a module that has the specifier in quotes. */
function lineOf(specifier: string, parent: string): number | undefined {
  try {
    const lines = readFileSync(new URL(bare(parent)), 'utf8').split('\n');
    const index = lines.findIndex(
      (line) => line.includes(`'${specifier}'`) || line.includes(`"${specifier}"`),
    );
    return index < 0 ? undefined : index + 1;
  } catch {
    // It is no file, or is gone: Node's own message has to do.
    return undefined;
  }
}

/** Without the generation. */
function bare(url: string): string {
  return url.replace(/[?#].*$/, '');
}
