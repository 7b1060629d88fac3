import type { Logger } from '../observability/logger.ts';
import type { SwapSummary } from './live-resources.ts';
import { describeProblem } from './problem.ts';
import type { FileReport } from './report.ts';

/** Problems that one reload logs at most; the report has all. */
const MAX_LINES = 20;

/** Tells the log of changes, and of each problem once. */
export class Teller {
  readonly #folder: string;
  readonly #log: Logger;
  #told: ReadonlySet<string> = new Set();
  #toldWaiting: ReadonlySet<string> = new Set();

  constructor(folder: string, log: Logger) {
    this.#folder = folder;
    this.#log = log;
  }

  /** After each exchange of the live resources. */
  tell(summary: SwapSummary, reports: readonly FileReport[]): void {
    const { added, rebuilt, removed } = summary;
    if (added + rebuilt + removed > 0) {
      this.#log.info({ folder: this.#folder, added, rebuilt, removed }, 'resources were loaded');
    }
    const lines = linesOf(reports, 'failed');
    const fresh = [...lines.keys()].filter((line) => !this.#told.has(line));
    this.#told = new Set(lines.keys());
    for (const problem of fresh.slice(0, MAX_LINES)) {
      const end = lines.get(problem) === true ? '; its last good version stays' : ' and was not loaded';
      this.#log.error({ folder: this.#folder, problem }, `a resource is not valid${end}`);
    }
    if (fresh.length > MAX_LINES) {
      this.#log.error(
        { folder: this.#folder, more: fresh.length - MAX_LINES },
        'more resources are not valid',
      );
    }
  }

  /** Of kinds that nobody registers: at a time when all plugins had theirs. */
  tellWaiting(reports: readonly FileReport[]): void {
    const lines = linesOf(reports, 'waiting');
    const fresh = [...lines.keys()].filter((line) => !this.#toldWaiting.has(line));
    this.#toldWaiting = new Set(lines.keys());
    for (const problem of fresh.slice(0, MAX_LINES)) {
      this.#log.warn({ folder: this.#folder, problem }, 'a resource waits for a plugin');
    }
  }
}

/** The problems as lines, each with whether an earlier version of its document is live. */
function linesOf(reports: readonly FileReport[], status: 'failed' | 'waiting'): ReadonlyMap<string, boolean> {
  const lines = new Map<string, boolean>();
  for (const { problems, documents } of reports) {
    if (status === 'failed') for (const problem of problems) lines.set(describeProblem(problem), false);
    for (const document of documents.filter((one) => one.status === status)) {
      for (const problem of document.problems) lines.set(describeProblem(problem), document.servesLastGood);
    }
  }
  return lines;
}
