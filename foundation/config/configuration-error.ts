/** One thing that is wrong with the configuration. */
export interface ConfigurationProblem {
  /**
   * The variable (`SVC_DRAIN_TIMEOUT`) or the place in the file (`plugins.workflow.config.max_steps`); empty for a
   * whole file.
   */
  readonly name: string;
  /** Why, and what to write instead. Holds no secret value. */
  readonly message: string;
  /** The file that it stands in, when it is one. */
  readonly file?: string;
  /** Line in the file, from 1. */
  readonly line?: number;
}

/** A configuration that cannot be used. Lists everything that is wrong with it, not the first problem alone. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly problems: readonly ConfigurationProblem[];

  constructor(problems: readonly ConfigurationProblem[], options?: { cause?: unknown }) {
    super(problems.map(describeProblem).join('\n'), options);
    this.problems = problems;
  }
}

/** The error for a file that cannot be used as a whole. */
export function fileError(file: string, message: string, cause?: unknown): ConfigurationError {
  return new ConfigurationError([{ name: '', file, message }], { cause });
}

/** Whether something is wrong with a variable, and not with a file alone. */
export function namesVariable(error: unknown): boolean {
  return error instanceof ConfigurationError && error.problems.some(({ file }) => file === undefined);
}

/** One line for people: `gateway.yaml:12: plugins.workflow.config.max_steps: must be at least 1`. */
export function describeProblem(problem: ConfigurationProblem): string {
  const place = problem.line === undefined ? problem.file : `${problem.file}:${problem.line}`;
  return [place, problem.name, problem.message]
    .filter((part) => part !== undefined && part !== '')
    .join(': ');
}
