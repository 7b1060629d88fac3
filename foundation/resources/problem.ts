import { messageOf } from '../base/failure.ts';
import { clipText, redactText } from '../observability/redact-text.ts';

/** Something wrong in agents.d, with its place. */
export interface LocatedProblem {
  /** Relative to the folder; `.` is the folder itself. */
  readonly file: string;
  /** From 1. Absent for a file that could not be read. */
  readonly line?: number;
  /** From 1. */
  readonly column?: number;
  /** RFC 6901 pointer into the document; empty for all of it. */
  readonly pointer: string;
  /** Holds no secret, and quotes nothing of the file but names. */
  readonly message: string;
}

/** One line for people: `team/models.yaml:12: /spec/provider: must be one of "openai", "demo"`. */
export function describeProblem({ file, line, pointer, message }: LocatedProblem): string {
  const place = line === undefined ? file : `${file}:${line}`;
  return [place, pointer, message].filter((part) => part !== '').join(': ');
}

const MAX_REASON = 500;

/** What a failure says, short and without credentials, for people who may see the folder's report. */
export function reasonOf(failure: unknown): string {
  return clipText(redactText(messageOf(failure)), MAX_REASON);
}
