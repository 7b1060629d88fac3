import type { Logger } from '../observability/logger.ts';
import type { SourceDocument, SourceFile } from './document.ts';
import type { SwapSummary } from './live-resources.ts';
import type { Refusal } from './plan.ts';
import { describeProblem } from './problem.ts';
import type { DocumentReport, FileReport } from './resources.ts';
import type { LiveEntry } from './version.ts';

/** The report of the files. Pure. */
export function reportFiles(
  files: readonly SourceFile[],
  refusals: ReadonlyMap<SourceDocument, Refusal>,
  live: ReadonlyMap<string, LiveEntry>,
): readonly FileReport[] {
  const declared = new Set(files.flatMap(({ documents }) => documents.map(({ id }) => id)));
  const left = Map.groupBy(
    [...live].filter(([id]) => !declared.has(id)),
    ([, { file }]) => file,
  );
  const known = new Set(files.map(({ path }) => path));
  const reports = files.map(({ path, documents, problems }) => ({
    file: path,
    documents: [
      ...documents.map((document) => reportDocument(document, refusals.get(document), live)),
      ...(left.get(path) ?? []).map(([, entry]) => reportLeft(entry)),
    ],
    problems,
  }));
  // Files of a folder that cannot be read.
  const unseen = [...left].filter(([file]) => !known.has(file));
  const lost = unseen.map(([file, entries]) => {
    return { file, documents: entries.map(([, entry]) => reportLeft(entry)), problems: [] };
  });
  return [...reports, ...lost];
}

/** Not live for a mistake, and not only for a plugin that does not run. */
export const isWrong = ({ status, isMisspelled }: DocumentReport): boolean =>
  status === 'failed' || isMisspelled === true;

/** The files of which something is wrong, with what is wrong in one text: one line a problem, 20 at most. */
export function failures(files: readonly FileReport[]): readonly { file: string; error: string }[] {
  return files.flatMap((report) => {
    const problems = [report, ...report.documents.filter(isWrong)].flatMap((one) => one.problems);
    if (problems.length === 0) return [];
    const lines = problems.slice(0, MAX_LINES).map(describeProblem);
    const more = problems.length - lines.length;
    return [{ file: report.file, error: [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('\n') }];
  });
}

/** How many documents wait for a plugin that registers their kind. */
export function waiting(files: readonly FileReport[]): number {
  return files.flatMap(({ documents }) => documents).filter(({ status }) => status === 'waiting').length;
}

const MAX_LINES = 20;

function reportDocument(
  { id, file, line }: SourceDocument,
  refusal: Refusal | undefined,
  live: ReadonlyMap<string, LiveEntry>,
): DocumentReport {
  const whose = id === undefined ? {} : namesOf(id);
  if (refusal === undefined) return { ...whose, line, status: 'live', servesLastGood: false, problems: [] };
  const { status, problems, meant } = refusal;
  const misspelled = meant === undefined ? {} : { isMisspelled: true };
  // Of two that declare one resource, the other may be the live one.
  const entry = id === undefined ? undefined : live.get(id);
  const servesLastGood = entry?.file === file && entry.line === line;
  return { ...whose, line, status, ...misspelled, servesLastGood, problems };
}

function reportLeft({ version, line }: LiveEntry): DocumentReport {
  return { ...namesOf(version.step.id), line, status: 'failed', servesLastGood: true, problems: [] };
}

function namesOf(id: string): { kind: string; name: string } {
  const [kind, name] = id.split('/') as [string, string];
  return { kind, name };
}

/** Logs changes, and each problem once. */
export function createReloadLog(folder: string, log: Logger) {
  let logged: ReadonlySet<string> = new Set();
  let loggedWaiting: ReadonlySet<string> = new Set();

  return {
    /** After each exchange of the live resources. */
    reload({ added, rebuilt, removed }: SwapSummary, reports: readonly FileReport[]): void {
      if (added + rebuilt + removed > 0)
        log.info({ folder, added, rebuilt, removed }, 'resources were loaded');
      const lines = linesOf(reports, 'failed');
      const fresh = [...lines.keys()].filter((line) => !logged.has(line));
      logged = new Set(lines.keys());
      for (const problem of fresh.slice(0, MAX_LINES)) {
        const end = lines.get(problem) === true ? '; its last good version stays' : ' and was not loaded';
        log.error({ folder, problem }, `a resource is not valid${end}`);
      }
      const more = fresh.length - MAX_LINES;
      if (more > 0) log.error({ folder, more }, 'more resources are not valid');
    },

    /** Logs documents whose kind is not registered. Call it when all plugins have registered theirs. */
    waiting(reports: readonly FileReport[]): void {
      const lines = [...linesOf(reports, 'waiting').keys()];
      const fresh = lines.filter((line) => !loggedWaiting.has(line));
      loggedWaiting = new Set(lines);
      for (const problem of fresh.slice(0, MAX_LINES)) {
        log.warn({ folder, problem }, 'a resource waits for a plugin');
      }
    },
  };
}

/** The problems as lines, each with whether an earlier version of its document is live. */
function linesOf(reports: readonly FileReport[], status: 'failed' | 'waiting'): ReadonlyMap<string, boolean> {
  const lines = new Map<string, boolean>();
  for (const { problems, documents } of reports) {
    // What the file held and declares no more: a text that cannot be read does not say which of its resources it is
    // about.
    const isLeft = documents.some(({ servesLastGood, problems: own }) => servesLastGood && own.length === 0);
    if (status === 'failed') for (const problem of problems) lines.set(describeProblem(problem), isLeft);
    for (const document of documents.filter((one) => one.status === status)) {
      const stays = document.kind === undefined ? isLeft : document.servesLastGood;
      for (const problem of document.problems) lines.set(describeProblem(problem), stays);
    }
  }
  return lines;
}
