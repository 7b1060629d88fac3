import type { LiveEntry } from './kind-slot.ts';
import type { Refusal } from './plan.ts';
import { describeProblem, type LocatedProblem } from './problem.ts';
import type { SourceDocument, SourceFile } from './source-file.ts';

/** What became of one document. */
export interface DocumentReport {
  /** Absent when it cannot be told whose document it is. */
  readonly kind?: string;
  readonly name?: string;
  /** From 1. */
  readonly line: number;
  /** `waiting`: nothing is wrong with it, but no plugin that runs registers its kind. */
  readonly status: 'live' | 'failed' | 'waiting';
  /** An earlier version of it is live. */
  readonly servesLastGood: boolean;
  readonly problems: readonly LocatedProblem[];
}

/** What became of one file. */
export interface FileReport {
  /** Relative to the folder; `.` for the folder itself. */
  readonly file: string;
  /** Its documents, and resources that it held when it could last be read. */
  readonly documents: readonly DocumentReport[];
  /** Why it could not be read; the problems of documents are with them. */
  readonly problems: readonly LocatedProblem[];
}

/** The folder and what is live of it. */
export interface ResourcesReport {
  /** Absolute. */
  readonly folder: string;
  readonly exists: boolean;
  /** `polling` while the file system sends no notices: changes are seen within a second. */
  readonly watching: 'notices' | 'polling';
  /** When the folder was last read and found changed, or a reload was asked for. */
  readonly lastReloadAt: Date | undefined;
  readonly files: readonly FileReport[];
}

/** Puts together what is to be told of the files. Pure. */
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
  return [
    ...reports,
    ...unseen.map(([file, entries]) => ({
      file,
      documents: entries.map(([, entry]) => reportLeft(entry)),
      problems: [],
    })),
  ];
}

/** The files of which something failed, with what is wrong in one text: one line a problem, 20 at most. */
export function failures(files: readonly FileReport[]): readonly { file: string; error: string }[] {
  return files.flatMap((report) => {
    const failed = report.documents.filter(({ status }) => status === 'failed');
    const problems = [...report.problems, ...failed.flatMap((document) => document.problems)];
    if (problems.length === 0) return [];
    const lines = problems.slice(0, MAX_LINES).map(describeProblem);
    const more = problems.length - lines.length;
    return [{ file: report.file, error: [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('\n') }];
  });
}

const MAX_LINES = 20;

function reportDocument(
  { id, file, line }: SourceDocument,
  refusal: Refusal | undefined,
  live: ReadonlyMap<string, LiveEntry>,
): DocumentReport {
  const whose = id === undefined ? {} : namesOf(id);
  if (refusal === undefined) return { ...whose, line, status: 'live', servesLastGood: false, problems: [] };
  const { status, problems } = refusal;
  // Of two that declare one resource, the other may be the live one.
  const entry = id === undefined ? undefined : live.get(id);
  const servesLastGood = entry?.file === file && entry.line === line;
  return { ...whose, line, status, servesLastGood, problems };
}

function reportLeft({ version, line }: LiveEntry): DocumentReport {
  return { ...namesOf(version.id), line, status: 'failed', servesLastGood: true, problems: [] };
}

function namesOf(id: string): { kind: string; name: string } {
  const [kind, name] = id.split('/') as [string, string];
  return { kind, name };
}
