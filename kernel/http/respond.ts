import { type RenderedError, renderError } from '../../foundation/errors/render.ts';
import { begun } from '../../foundation/http/begun-stream.ts';
import { type SseTimes, SseWriter } from '../../foundation/http/sse-writer.ts';
import { redactLine } from '../../foundation/observability/redact-text.ts';
import { Reply, type ReplyBody } from '../api/reply.ts';
import type { Answer, Context } from '../chain/request-state.ts';

/** Puts what a handler returned on the wire. Resolves when a stream of events has ended. */
export async function respond(context: Context, result: unknown, times: SseTimes): Promise<void> {
  // Browsers keep answers for the way back, also after a logout; proxies know of no credential but `Authorization`.
  const { cookie, authorization } = context.req.headers;
  if ((cookie !== undefined || authorization === undefined) && !context.res.hasHeader('cache-control'))
    context.set('cache-control', 'no-store');
  if (!(result instanceof Reply)) {
    settleJson(context, 200, result ?? null);
    return;
  }
  const { body } = result;
  if (body.kind === 'stream' && context.req.method !== 'HEAD') await begun(body.value, context.state.signal);
  for (const name in result.headers) {
    // The chain may have named headers already: those of CORS.
    if (name === 'vary') context.vary(result.headers[name]!);
    else context.set(name, result.headers[name]!);
  }
  switch (body.kind) {
    case 'json':
      settleJson(context, result.status, body.value);
      return;
    case 'empty':
      context.body = null;
      // Koa turns an empty body into 204 by itself; other statuses are kept as they were asked for.
      context.status = result.status;
      return;
    case 'bytes':
    case 'stream':
      if (result.headers['content-type'] === undefined) context.set('content-type', answerType(context));
      context.status = result.status;
      context.body = body.value;
      return;
    case 'sse':
      await streamEvents(context, body, times);
  }
}

/** Answers with an error in the route's dialect, unless the response has begun. */
export function respondError(context: Context, thrown: unknown): void {
  const { state } = context;
  const error = state.errorOf(thrown);
  state.errorCode = error.code;
  if (context.res.headersSent) return;
  const rendered = renderError(error, state.dialect, state.requestId);
  for (const name in rendered.headers) context.set(name, rendered.headers[name]!);
  state.answer = { status: rendered.status, type: rendered.contentType, text: errorText(rendered) };
}

/**
 * Sends the settled answer. Koa would look up and compute again what is known here, which takes as long as the chain.
 */
export function sendAnswer({ req, res }: Context, { status, type, text }: Answer): void {
  if (res.headersSent || res.destroyed) return;
  res.statusCode = status;
  res.setHeader('Content-Type', type);
  res.setHeader('Content-Length', Buffer.byteLength(text));
  res.end(req.method === 'HEAD' ? undefined : text);
}

/** Messages quote what the client sent, which may be a credential in the wrong place. */
function errorText({ body }: RenderedError): string {
  return redactLine(JSON.stringify(body));
}

function settleJson({ state }: Context, status: number, value: unknown): void {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined)
    throw new TypeError(`The handler answered with a ${typeof value}, which is no JSON`);
  state.answer = { status, type: 'application/json; charset=utf-8', text };
}

/** What the route declares; an author who has declared nothing gets what no browser takes for a page. */
function answerType({ state: { match } }: Context): string {
  return (match.kind === 'route' && match.route.definition?.answerType) || 'text/plain; charset=utf-8';
}

type SseBody = ReplyBody & { kind: 'sse' };

async function streamEvents(context: Context, { run, failure }: SseBody, times: SseTimes): Promise<void> {
  const { res, state } = context;
  context.respond = false;
  res.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    // Nginx would otherwise collect the stream before it hands it on.
    'x-accel-buffering': 'no',
  });
  // A HEAD request does not wait for events, nor hold the connection until there are none.
  if (context.req.method === 'HEAD') return void res.end();
  res.flushHeaders();
  const writer = new SseWriter(res, state.signal, (reason) => state.abort(reason), times);
  try {
    await run(writer);
    // Many a handler ends in order when its signal aborts; the client must not take that for the end of the events.
    if (state.isAborted && state.errorOf(undefined).kind === 'unauthenticated') throw state.signal.reason;
  } catch (thrown) {
    sendFailure(context, thrown, failure);
    throw thrown;
  } finally {
    await state.beforeEnd?.();
    await writer.end();
  }
}

/** A stream that has begun reports its failure in the stream: event `error`, then the terminator (decisions 0.1). */
function sendFailure(context: Context, thrown: unknown, failure: SseBody['failure']): void {
  const { res, state } = context;
  if (res.destroyed) return;
  const error = state.errorOf(thrown);
  state.errorCode = error.code;
  if (failure !== undefined) {
    const { event, data } = failure(error);
    res.write(`event: ${event ?? 'error'}\ndata: ${redactLine(data)}\n\n`);
    return;
  }
  const rendered = renderError(error, state.dialect, state.requestId);
  res.write(`event: error\ndata: ${errorText(rendered)}\n\ndata: [DONE]\n\n`);
}
