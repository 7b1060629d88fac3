import type { Middleware } from './request-state.ts';

const METHODS = 'GET, POST, PUT, DELETE, OPTIONS';
const HEADERS = 'Authorization, Content-Type, X-Svc-Session-Id, X-Svc-User-Id';
const EXPOSED =
  'X-Request-ID, X-Svc-Session-Id, X-RateLimit-Limit, X-RateLimit-Remaining, Retry-After, X-Should-Retry';

/**
 * Cross-origin rules (specification 1, CORS). `origins` is `*` or a list; with `*` credentials are never allowed. Every
 * OPTIONS is answered here with 204, before any credential is asked for.
 */
export function cors(origins: readonly string[]): Middleware {
  const any = origins.includes('*');
  const listed = new Set(origins);
  return function answerCors(context, next) {
    const { origin } = context.req.headers;
    if (!any && listed.size > 0) context.vary('Origin');
    if (origin !== undefined && (any || listed.has(origin))) {
      context.set('Access-Control-Allow-Origin', any ? '*' : origin);
      if (!any) context.set('Access-Control-Allow-Credentials', 'true');
      context.set('Access-Control-Expose-Headers', EXPOSED);
    }
    if (context.req.method !== 'OPTIONS') return next();
    context.set('Access-Control-Allow-Methods', METHODS);
    context.set('Access-Control-Allow-Headers', HEADERS);
    context.set('Access-Control-Max-Age', '600');
    context.status = 204;
  };
}
