import { type FusedStatement, ServerPlans } from './server-plans.ts';

/** Prefix of a statement that is to travel with the next one. A comment for the server. */
export const JOIN_NEXT = '/* join next */ ';
/** Not sent: ends the connection, which the pool then replaces. */
export const END_CONNECTION = '/* end connection */';

interface PgResult {
  readonly command: string | null;
  readonly rowCount: number | null;
  readonly rows: readonly unknown[];
}

interface PgClient {
  // biome-ignore lint/suspicious/noExplicitAny: pg's query takes texts, configurations and cursors, with or without callback
  query(...args: any[]): any;
  end(): Promise<void>;
}

/** The class that pg's pool makes its clients of. */
// biome-ignore lint/suspicious/noExplicitAny: the constructor's argument belongs to pg
export type PgClientClass = new (...args: any[]) => PgClient;

/** How pg says that no answer came within `query_timeout`. */
const READ_TIMEOUT = 'Query read timeout';

const NOTHING: PgResult = { command: null, rowCount: null, rows: [] };

/**
 * A pg client that holds back `begin` and every statement marked with `JOIN_NEXT` and sends them in one message with
 * the next statement: a transaction costs no round trip to open. A transaction in which nothing was asked is never sent
 * at all. An error in the joined message leaves the transaction failed, as usual; the caller rolls it back.
 *
 * A query whose value is `FusedStatements` is one message too: its text, and then these, with plans that the server
 * keeps.
 */
export function joiningClient(Client: PgClientClass): PgClientClass {
  return class JoiningClient extends Client {
    #held = '';
    readonly #plans = new ServerPlans();

    override query(query: unknown, ...rest: unknown[]): unknown {
      const [values] = rest;
      const [fused] = Array.isArray(values) ? values : [];
      if (fused instanceof FusedStatements) return this.#sendFused(String(query), fused);
      if (typeof query !== 'string' || (Array.isArray(values) && values.length > 0)) {
        return this.#afterHeld(() => this.#send(query, ...rest));
      }
      if (isBegin(query) || query.startsWith(JOIN_NEXT)) {
        this.#held += `${query}; `;
        return Promise.resolve(NOTHING);
      }
      if (query === END_CONNECTION) {
        this.end().catch(() => {});
        return Promise.resolve(NOTHING);
      }
      if (this.#held === '' && query === 'rollback') return super.query(query).catch(this.#endAndThrow);
      if (this.#held === '') return super.query(query).then(last, this.#endIfSilent);
      const held = this.#takeHeld();
      if (query === 'commit' || query === 'rollback') return Promise.resolve(NOTHING);
      return super.query(held + query).then(last, this.#endIfSilent);
    }

    /** A statement with parameters, or a cursor, is a message of its own kind: what was held goes before it. */
    #afterHeld(send: () => unknown): unknown {
      if (this.#held === '') return send();
      const opened: Promise<unknown> = super.query(this.#takeHeld());
      return opened.then(send, this.#endIfSilent);
    }

    /** Of cursors and callbacks nothing comes back here. */
    #send(...query: readonly unknown[]): unknown {
      const sent: unknown = super.query(...query);
      return sent instanceof Promise ? sent.catch(this.#endIfSilent) : sent;
    }

    /** Outside a transaction a message that failed has done nothing, and can be sent again. */
    async #sendFused(text: string, { statements }: FusedStatements): Promise<unknown> {
      if (this.#held !== '') throw new Error('A transaction is open: what is fused is one of its own');
      const composed = this.#plans.compose(statements);
      try {
        return last(await super.query(text + composed.text));
      } catch (error) {
        if (!composed.failed(error)) return this.#endIfSilent(error);
        return last(await super.query(text + this.#plans.compose(statements).text).catch(this.#endIfSilent));
      }
    }

    /**
     * It is not known whether the transaction is still open: the next user of the pool must not get a connection inside
     * it.
     */
    #endAndThrow = (error: unknown): never => {
      this.end().catch(() => {});
      throw error;
    };

    /**
     * pg gives up waiting for an answer, and keeps the connection and its query: the next user of the pool would wait
     * behind it, and so on until the network notices.
     */
    #endIfSilent = (error: unknown): never => {
      if ((error as Error | undefined)?.message === READ_TIMEOUT) return this.#endAndThrow(error);
      throw error;
    };

    #takeHeld(): string {
      const held = this.#held;
      this.#held = '';
      return held;
    }
  };
}

const isBegin = (query: string) => query === 'begin' || query.startsWith('start transaction');

/** pg gives one result for each statement of a message; the caller asked the last one. */
const last = (result: PgResult | readonly PgResult[]) => (Array.isArray(result) ? result.at(-1) : result);

/**
 * Statements that travel as one message, which PostgreSQL runs as one transaction. They are the only value of a query;
 * its text comes before them in the message. See `joiningClient`.
 */
export class FusedStatements {
  readonly statements: readonly FusedStatement[];

  constructor(statements: readonly FusedStatement[]) {
    this.statements = statements;
  }
}
