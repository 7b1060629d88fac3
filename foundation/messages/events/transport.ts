/** A way to the other replicas. What is sent on one connection arrives on every connection, this one included. */
export interface Transport {
  readonly reach: 'redis' | 'postgres';
  /** For people: `Redis`, `PostgreSQL`. */
  readonly title: string;
  /** Whether the log says already that the server is away, because other parts of the process use it too. */
  isReportedAway?(): boolean;
  /** Prepares one connection; it is never opened again when it is lost. */
  connect(events: ConnectionEvents): Connection;
}

/** What a connection reports. */
export interface ConnectionEvents {
  message(text: string): void;
  /** The connection is gone. May be called more than once, also after `destroy`. */
  lost(reason: unknown): void;
}

/** One connection. Calls do not overlap: each is made when the one before it has settled. */
export interface Connection {
  /** Resolves when messages are received and can be sent. */
  open(): Promise<void>;
  /** Sends in order. Resolves with those that the server refused; rejects when it is not known what arrived. */
  send(messages: readonly string[]): Promise<Refusal>;
  /** Resolves when the server answered, on every socket of the connection. */
  ping(): Promise<void>;
  /**
   * Drops the connection at once. Opening and what else is under way rejects, at the latest when its deadline is over.
   */
  destroy(): void;
}

/** What the server did not take although it works. */
export interface Refusal {
  readonly count: number;
  readonly reason?: unknown;
}
