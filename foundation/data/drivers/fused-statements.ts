/** A statement without its values. */
export interface Plannable {
  /** `$1` stands for the first argument. */
  readonly text: string;
  /** SQL literals. */
  readonly args: readonly string[];
}

/** A statement that is sent together with others. */
export interface FusedStatement {
  /** With its values in place. */
  toText(): string;
  /** For a server that plans it once and runs it often; undefined where an argument would not mean what it means in the text. */
  toPlannable(): Plannable | undefined;
}

/**
 * Statements that travel as one message, which PostgreSQL runs as one transaction. They are the only value of a query; its text comes before
 * them in the message. See `joiningClient`.
 */
export class FusedStatements {
  readonly statements: readonly FusedStatement[];

  constructor(statements: readonly FusedStatement[]) {
    this.statements = statements;
  }
}
