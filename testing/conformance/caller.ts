import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { endsWithin } from '../../foundation/base/deadline.ts';
import type { InFlight } from '../../foundation/base/in-flight.ts';
import type { CompiledMethod } from '../../kernel/grpc/compiled-service.ts';
import type { CompiledRoute } from '../../kernel/http/compiled-route.ts';
import type { GrpcClient, OpenGrpcCall } from '../grpc-client.ts';
import type { TestGateway } from '../start-test-gateway.ts';
import { nameOf } from './gateway-of.ts';
import type { ConformanceOptions, SampleTenant } from './options.ts';
import { requestOf } from './request-of.ts';
import type { Made } from './sample.ts';
import { messageOf, placed, type Subject } from './subject.ts';

/** Milliseconds in which a call is answered, where the options say nothing. */
const DEADLINE = 10_000;
/**
 * Milliseconds that a stream is read on after its first message, and that one without any is waited for where it does
 * not matter.
 */
const FOLLOW = 500;
/** Milliseconds in which a handler ends when its caller has left, and not more than a call may take. */
const CANCEL = 5_000;

/**
 * How much of a stream is read. `glance`: what comes at once. `first`: until there is a message, and a little more.
 * `whole`: to its end. All of it at most until the deadline; then the call is cancelled.
 */
export type Patience = 'glance' | 'first' | 'whole';

/** An answer over HTTP, or the first part of it. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  /** Of JSON the value, of everything else the text. */
  readonly body: unknown;
  /** What the gateway's log says of a failure. */
  readonly failure: string;
}

/** An answer over gRPC, or the first part of it. */
export interface MethodAnswered {
  /** `OK` also of a stream that was cancelled after its first messages. */
  readonly code: string;
  readonly body: readonly unknown[];
  readonly failure: string;
}

/**
 * Calls the plugin's routes and methods, one at a time, each with a deadline. What is wrong with the way in which they
 * answer is in `problems`.
 */
export class Caller {
  readonly problems = new Set<string>();
  readonly #subject: Subject;
  readonly #gateway: TestGateway;
  readonly #deadline: number;

  constructor(subject: Subject, gateway: TestGateway) {
    this.#subject = subject;
    this.#gateway = gateway;
    this.#deadline = subject.options.deadline ?? DEADLINE;
  }

  /** Sends a tenant's request to a route, with its sample. `undefined`: there was no answer, which is in `problems`. */
  async route(
    route: CompiledRoute,
    tenant: Pick<SampleTenant, 'token' | 'marker'>,
    known: Made,
    patience: Patience = 'glance',
  ): Promise<Answered | undefined> {
    const name = nameOf(route);
    const { method, path, headers, body } = requestOf(route, this.#subject.options, tenant.marker, known);
    const requestId = randomUUID();
    const identity = { authorization: `Bearer ${tenant.token}`, 'x-request-id': requestId };
    return this.#call(name, route.inFlight, async (signal, cut) => {
      const response = await fetch(`${this.#gateway.url}${path}`, {
        method,
        signal,
        redirect: 'manual',
        headers: { ...identity, ...headers },
        ...(body === undefined ? {} : { body }),
      });
      const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '');
      const isStream = !response.headers.has('content-length') && !isJson;
      const text =
        isStream && response.body !== null
          ? await this.#read(response.body, patience, cut)
          : await response.text();
      const { status } = response;
      const failure = isStream || status >= 500 ? await this.#failure(requestId, route.inFlight) : '';
      return { status, headers: response.headers, body: isJson ? JSON.parse(text) : text, failure };
    });
  }

  /** Calls a gRPC method with one request. */
  async method(
    client: GrpcClient,
    { name, inFlight }: CompiledMethod,
    request: object,
    token: string,
    patience: Patience = 'glance',
  ): Promise<MethodAnswered | undefined> {
    const requestId = randomUUID();
    return this.#call(name, inFlight, async (signal, cut) => {
      const metadata = { 'x-request-id': requestId };
      const call = client.open(name.slice(name.lastIndexOf('/') + 1), { token, signal, metadata });
      call.send(request);
      call.end();
      const messages = await this.#collect(call, patience, signal);
      if (messages.isCut) cut();
      const { code } = messages.isCut ? { code: 'OK' } : await call.answer;
      const isFailure = code === 'INTERNAL' || code === 'UNKNOWN';
      const failure = isFailure ? await this.#failure(requestId, inFlight) : '';
      return { code, body: messages.list, failure };
    });
  }

  /** Makes a call with a deadline; one that was cut has to end on the server as well. */
  async #call<T>(
    name: string,
    inFlight: InFlight,
    make: (signal: AbortSignal, cut: () => void) => Promise<T>,
  ): Promise<T | undefined> {
    if (this.#subject.silent.has(name)) return undefined;
    const stop = new AbortController();
    let isCut = false;
    const made = make(stop.signal, () => {
      isCut = true;
    });
    const isAnswered = await endsWithin(this.#deadline + FOLLOW, made);
    stop.abort();
    if (!isAnswered) {
      made.catch(() => {});
      this.#subject.silent.add(name);
      this.problems.add(`${name} does not answer within ${this.#deadline / 1000} s`);
      return undefined;
    }
    if (isCut && !(await inFlight.idle(Math.min(CANCEL, this.#deadline)))) {
      this.#subject.silent.add(name);
      this.problems.add(`${name} goes on after its caller has left: end it when call.signal aborts`);
    }
    return made.catch((error) => {
      this.problems.add(`${name} breaks off its answer: ${messageOf(error)}`);
      return undefined;
    });
  }

  /** What the log says of a call's failure, of a stream also where it has begun well. */
  async #failure(requestId: string, inFlight: InFlight): Promise<string> {
    await inFlight.idle(FOLLOW);
    return failureIn(this.#gateway, requestId, this.#subject.options);
  }

  /** The text of a body that may go on for ever. */
  async #read(
    body: ReadableStream<Uint8Array<ArrayBuffer>>,
    patience: Patience,
    cut: () => void,
  ): Promise<string> {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const { isCut } = await this.#until(patience, async () => {
      const { done, value = '' } = await reader.read();
      text += value;
      return { done, isMessage: text.includes('data:') || (text !== '' && !text.startsWith(':')) };
    });
    if (isCut) {
      cut();
      void reader.cancel().catch(() => {});
    }
    return text;
  }

  async #collect(call: OpenGrpcCall, patience: Patience, signal: AbortSignal) {
    const list: unknown[] = [];
    const { isCut } = await this.#until(patience, async () => {
      const { done = false, value } = await call.messages.next();
      if (!done) list.push(value);
      return { done, isMessage: list.length > 0 };
    });
    if (isCut && !signal.aborted) call.cancel();
    return { list, isCut };
  }

  /** Reads on as long as the patience lasts. */
  async #until(
    patience: Patience,
    next: () => Promise<{ readonly done: boolean; readonly isMessage: boolean }>,
  ): Promise<{ readonly isCut: boolean }> {
    const stop = new AbortController();
    let until = performance.now() + (patience === 'glance' ? FOLLOW : this.#deadline);
    let isFollowed = patience !== 'first';
    try {
      for (;;) {
        const reading = next();
        reading.catch(() => {});
        const over = pause(Math.max(0, until - performance.now()), undefined, { signal: stop.signal });
        over.catch(() => {});
        const read = await Promise.race([reading, over]);
        if (read === undefined) return { isCut: true };
        if (read.done) return { isCut: false };
        if (read.isMessage && !isFollowed) {
          isFollowed = true;
          until = Math.min(until, performance.now() + FOLLOW);
        }
      }
    } finally {
      stop.abort();
    }
  }
}

interface LoggedFailure {
  readonly requestId?: string;
  /** What was thrown, also where it is no error. */
  readonly err?: { readonly message?: string; readonly stack?: string } | string;
}

/**
 * `: what went wrong (routes/items.ts:12)`: what the log of the gateway says of the failure of a call; empty where it
 * says nothing.
 */
function failureIn(gateway: TestGateway, requestId: string, options: ConformanceOptions): string {
  const line = gateway.logs().findLast((one) => one.includes(requestId) && one.includes('"err"'));
  if (line === undefined) return '';
  const { err: thrown = {} } = JSON.parse(line) as LoggedFailure;
  const err = typeof thrown === 'string' ? { message: thrown } : thrown;
  const [message = ''] = (err.message ?? '').split('\n', 1);
  const error = Object.assign(new Error(message), { stack: 'stack' in err ? err.stack : '' });
  return `: ${message}${placed(error, options)}`;
}
