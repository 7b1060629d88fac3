import real, { registerCompletionHandler } from 'ava';

/**
 * Stands in for `ava` where many test files share a process: what a file declares is collected, and handed to AVA when
 * all files have been read.
 */

/** What a file may ask to be run around its tests. */
export type Hook = 'before' | 'after' | 'beforeEach' | 'afterEach';

/** One call of `test`, or of one of its forms. */
export interface Declaration {
  /** `serial`, `skip`, `only`, `failing`, `todo`. */
  readonly flags: readonly string[];
  readonly hook: Hook | undefined;
  readonly args: readonly unknown[];
}

const HOOKS: ReadonlySet<string> = new Set(['before', 'after', 'beforeEach', 'afterEach']);
const FLAGS: ReadonlySet<string> = new Set(['serial', 'skip', 'only', 'failing', 'todo', 'always']);

let current: Declaration[] = [];

/** What is declared from now on belongs to the next file. */
export function beginFile(): readonly Declaration[] {
  current = [];
  return current;
}

type Chain = Record<string, unknown> & ((...args: unknown[]) => void);

function chain(words: readonly string[]): Chain {
  return new Proxy((() => {}) as unknown as Chain, {
    apply: (_target, _self, args: unknown[]) => {
      const hook = words.find((word) => HOOKS.has(word)) as Hook | undefined;
      current.push({ flags: words.filter((word) => !HOOKS.has(word) && word !== 'always'), hook, args });
    },
    get: (_target, word: string) => {
      if (word === 'macro' || word === 'meta') return real[word];
      if (!HOOKS.has(word) && !FLAGS.has(word))
        throw new Error(`test.${word} cannot be used in files that share a process`);
      return chain([...words, word]);
    },
  });
}

export { real, registerCompletionHandler };
export default chain([]);
