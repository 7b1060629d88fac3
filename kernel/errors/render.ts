import type { GatewayError } from '../../foundation/base/gateway-error.ts';
import type { ErrorDialect } from '../api/route.ts';
import { cozeBody } from './dialect-coze.ts';
import { openAiBody } from './dialect-openai.ts';
import { problemBody } from './dialect-problem.ts';
import { HTTP_STATUS } from './status.ts';

/** An error as it goes over the wire. */
export interface RenderedError {
  readonly status: number;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

/** Tells an error in a dialect (decisions 0.1). `requestId` links the answer to logs, audit and traces. */
export function renderError(error: GatewayError, dialect: ErrorDialect, requestId: string): RenderedError {
  const status = HTTP_STATUS[error.kind];
  return {
    status,
    contentType: dialect === 'problem' ? 'application/problem+json' : 'application/json; charset=utf-8',
    headers: errorHeaders(error),
    body: BODIES[dialect](error, status, requestId),
  };
}

const BODIES = { problem: problemBody, openai: openAiBody, coze: cozeBody } as const;

/**
 * The headers of an error (of gRPC: trailers). Clients that retry by themselves must not repeat what can only fail, or take
 * effect, a second time.
 */
export function errorHeaders(error: GatewayError): Record<string, string> {
  const headers: Record<string, string> = { ...error.extras.headers };
  const retryable = error.extras.retryable ?? error.kind !== 'conflict';
  if (!retryable) headers['x-should-retry'] = 'false';
  // RFC 9110, 15.5.2: a 401 says how to authenticate.
  if (error.kind === 'unauthenticated') headers['www-authenticate'] ??= 'Bearer';
  return headers;
}
