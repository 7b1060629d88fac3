import type { SandboxLanguage } from '../../contract.ts';

/** All languages, for lists and checks. */
export const SANDBOX_LANGUAGES: readonly SandboxLanguage[] = ['python', 'javascript', 'shell'];

/** The file that holds the code. Node takes a `.js` file without a package.json as CommonJS or ESM, whichever it is. */
export const SOURCE_FILES: Readonly<Record<SandboxLanguage, string>> = {
  python: 'main.py',
  javascript: 'main.js',
  shell: 'main.sh',
};

/** All that the code's environment holds, beside `PATH`. Python without a buffer, so that a timeout loses nothing that was printed. */
export const SANDBOX_ENVIRONMENT: Readonly<Record<string, string>> = {
  HOME: '/work',
  TMPDIR: '/tmp',
  LANG: 'C.UTF-8',
  PYTHONUNBUFFERED: '1',
  PYTHONDONTWRITEBYTECODE: '1',
};

/** The part of the memory that V8 uses for objects; the rest is for its code, threads and buffers. */
const HEAP_SHARE = 0.6;

/**
 * What runs a file in an image that may lack bash.
 *
 * @param file the code's path in the sandbox
 */
export function imageCommand(
  language: SandboxLanguage,
  file: string,
  memoryBytes: number,
): readonly string[] {
  if (language === 'python') return ['python3', file];
  if (language === 'javascript') return ['node', heapFlag(memoryBytes), file];
  return ['sh', '-c', 'command -v bash >/dev/null && exec bash "$0"; exec sh "$0"', file];
}

/** V8's heap bound for a process that may use so much memory. */
export function heapFlag(memoryBytes: number): string {
  return `--max-old-space-size=${Math.floor((memoryBytes * HEAP_SHARE) / 1_048_576)}`;
}
