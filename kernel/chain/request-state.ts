import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Next, ParameterizedContext } from 'koa';
import { KernelErrors } from '../../foundation/base/error-catalogue.ts';
import type { AnyDialect } from '../../foundation/errors/render.ts';
import type { Match } from '../http/route-table.ts';
import { CallState } from './call-state.ts';

/** A whole answer of text, which is sent when all stages are done with it. */
export interface Answer {
  readonly status: number;
  /** Content type. */
  readonly type: string;
  readonly text: string;
}

/** What the chain knows about one HTTP request; it is Koa's `context.state`. */
export class RequestState extends CallState {
  readonly match: Match;
  readonly path: string;
  /** What will be sent; `undefined` while that is open, and for what Koa or a stream sends. */
  answer: Answer | undefined;
  giveUp: (() => void) | undefined;
  /** Is waited for before the last bytes of a stream of events leave. */
  beforeEnd: (() => Promise<void> | undefined) | undefined;
  /** The body, where it was read already. */
  bytes: Promise<Buffer> | undefined;
  readonly request: IncomingMessage;
  readonly #response: ServerResponse;

  constructor(
    match: Match,
    path: string,
    startedAt: number,
    exchange: { req: IncomingMessage; res: ServerResponse },
  ) {
    super(startedAt);
    this.match = match;
    this.path = path;
    this.request = exchange.req;
    this.#response = exchange.res;
  }

  /** The route's pattern, or `unmatched`: the only form of the path that becomes a metric label. */
  get pattern(): string {
    return this.match.kind === 'route' ? this.match.route.pattern : 'unmatched';
  }

  get owner(): string | undefined {
    return this.match.kind === 'route' ? this.match.route.owner : undefined;
  }

  get dialect(): AnyDialect {
    const { match } = this;
    if (match.kind === 'wrong-method') return match.errors;
    return match.kind === 'route' ? match.route.errors : 'any';
  }

  setHeader(name: string, value: string): void {
    if (!this.#response.headersSent) this.#response.setHeader(name, value);
  }

  tellLimit(limit: number, remaining: number): void {
    const response = this.#response;
    const previous = response.getHeader('X-RateLimit-Remaining');
    if (previous !== undefined && remaining >= Number(previous)) return;
    response.setHeader('X-RateLimit-Limit', limit);
    response.setHeader('X-RateLimit-Remaining', remaining);
  }

  /** Watches the response for its end; once per request. */
  watch(monotonic: () => number): void {
    const response = this.#response;
    response.once('close', () => {
      const sent = response.writableFinished;
      if (!sent) this.abort(KernelErrors.clientClosed());
      this.done({ status: sent ? response.statusCode : 499, duration: monotonic() - this.startedAt });
    });
  }
}

/** The context of a request as the chain's stages see it. */
export type Context = ParameterizedContext<RequestState>;

/** A stage of the chain. */
export type Middleware = (context: Context, next: Next) => Promise<void> | void;
