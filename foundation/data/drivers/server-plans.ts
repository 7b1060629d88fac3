import { randomBytes } from 'node:crypto';

/** Statements of one connection that the server keeps plans of, and that are counted. */
const MAX_STATEMENTS = 64;
/** More would be rows that come in this number but once. */
const MAX_ARGUMENTS = 100;
/** A statement is planned ahead when it comes so often. */
const FREQUENT = 3;
/**
 * Milliseconds after which a plan is made again. PostgreSQL itself does so when it has counted the rows of a table
 * again, up to a minute after a small table has become a large one, in which the best way into it is another.
 */
const MAX_AGE_MS = 10_000;
/** Names that the server may still keep after failures; above it all are taken back. */
const MAX_LOST = 50;

/** PostgreSQL's code for a prepared statement that it does not have. */
const NO_SUCH_STATEMENT = '26000';

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
  /**
   * For a server that plans it once and runs it often; undefined where an argument would not mean what it means in the
   * text.
   */
  toPlannable(): Plannable | undefined;
}

interface Counted {
  uses: number;
  /** The message in which it was used last. */
  lastUse: number;
  /** Under which the server has it. */
  name: string | undefined;
  plannedAt: number;
}

/** One message, and what its outcome means for the plans. */
export interface Composed {
  readonly text: string;
  /**
   * To be called when nothing of the message was done. True: the plans were gone, and messages that are composed from
   * now on use none.
   */
  failed(error: unknown): boolean;
}

/**
 * The statements that one connection has prepared on its server, in SQL (`prepare`, `execute`) rather than by the
 * protocol's messages: so that several still travel as one. The server then saves what costs it most of the time of a
 * small write, the planning.
 *
 * Behind a pooler that gives each transaction another connection of the server the plans are not where they are looked
 * for: from then on none are made.
 */
export class ServerPlans {
  readonly #now: () => number;
  // Two clients of one pooler must not mean different statements by one name.
  readonly #prefix = `gateway_${randomBytes(4).toString('hex')}_`;
  /** By text. */
  readonly #counted = new Map<string, Counted>();
  readonly #dropped: string[] = [];
  #messages = 0;
  #names = 0;
  #lost = 0;
  #isOff = false;

  /** @param now milliseconds that only grow */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Writes the message. Each statement in it is executed by its plan, planned first, or as it is. */
  compose(statements: readonly FusedStatement[]): Composed {
    this.#messages += 1;
    const parts: string[] = this.#takeBack();
    const doubtful = new Map<string, string>();
    for (const statement of statements) {
      const plannable = this.#isOff ? undefined : statement.toPlannable();
      const counted = plannable && this.#count(plannable);
      if (counted === undefined || plannable === undefined) {
        parts.push(statement.toText());
        continue;
      }
      if (counted.name === undefined) {
        this.#names += 1;
        counted.name = `${this.#prefix}${this.#names}`;
        counted.plannedAt = this.#now();
        doubtful.set(counted.name, plannable.text);
        parts.push(`prepare ${counted.name} as ${plannable.text}`);
      }
      const args = plannable.args.length === 0 ? '' : `(${plannable.args.join(', ')})`;
      parts.push(`execute ${counted.name}${args}`);
    }
    return { text: parts.join('; '), failed: (error) => this.#failed(error, doubtful) };
  }

  /** A statement that comes often; undefined for any other. */
  #count({ text, args }: Plannable): Counted | undefined {
    if (args.length > MAX_ARGUMENTS) return undefined;
    const counted = this.#counted.get(text) ?? this.#meet(text);
    counted.uses += 1;
    counted.lastUse = this.#messages;
    if (counted.name !== undefined && this.#now() - counted.plannedAt > MAX_AGE_MS) this.#drop(counted);
    return counted.uses < FREQUENT ? undefined : counted;
  }

  #meet(text: string): Counted {
    if (this.#counted.size >= MAX_STATEMENTS) this.#forgetOldest();
    const counted = { uses: 0, lastUse: 0, name: undefined, plannedAt: 0 };
    this.#counted.set(text, counted);
    return counted;
  }

  #forgetOldest(): void {
    let oldest: [string, Counted] | undefined;
    for (const entry of this.#counted) {
      if (oldest === undefined || entry[1].lastUse < oldest[1].lastUse) oldest = entry;
    }
    if (oldest === undefined) return;
    this.#counted.delete(oldest[0]);
    this.#drop(oldest[1]);
  }

  #drop(counted: Counted): void {
    if (counted.name !== undefined) this.#dropped.push(counted.name);
    counted.name = undefined;
  }

  #takeBack(): string[] {
    if (this.#lost > MAX_LOST) {
      this.#forgetAll();
      return ['deallocate all'];
    }
    return this.#dropped.splice(0).map((name) => `deallocate ${name}`);
  }

  /**
   * It is not known whether the server has prepared the doubtful statements. Those that it was to deallocate it has
   * deallocated: it does so before anything that can fail.
   *
   * @param doubtful texts by name
   */
  #failed(error: unknown, doubtful: ReadonlyMap<string, string>): boolean {
    if ((error as { code?: unknown }).code === NO_SUCH_STATEMENT) {
      // A pooler is between: that stays so for as long as the connection.
      this.#isOff = true;
      this.#forgetAll();
      return true;
    }
    for (const text of doubtful.values()) this.#counted.delete(text);
    // One of them may have been dropped since.
    const sure = this.#dropped.filter((name) => !doubtful.has(name));
    this.#dropped.splice(0, Number.POSITIVE_INFINITY, ...sure);
    this.#lost += doubtful.size;
    return false;
  }

  #forgetAll(): void {
    this.#counted.clear();
    this.#dropped.length = 0;
    this.#lost = 0;
  }
}
