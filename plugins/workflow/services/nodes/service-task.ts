import {
  type Clock,
  type Egress,
  EgressErrors,
  type EgressResponse,
  GatewayError,
  parseRetryAfter,
  type Secrets,
} from 'agent-gateway';
import type { JsonObject } from '../../contract/graph.ts';
import { type NodeType, StepFailure, type StepTask } from '../../contract/node-types.ts';
import { checkServiceTask, ServiceTaskConfig, serviceTaskTemplates } from '../graph/builtin-config.ts';
import { pointerTo } from '../graph/json.ts';
import { isSensitiveName, type Redactor } from '../views/redaction.ts';
import { retryWhile } from './retry-while.ts';
import { readAnswer, readExcerpt } from './service-answer.ts';
import {
  type ResolvedSecrets,
  resolveSecrets,
  type ServiceRequest,
  secretHeaderProblems,
  serviceRequest,
} from './service-request.ts';

/** Redirects that are followed at most (decisions 2.6). */
const MAX_REDIRECTS = 5;

/** What service tasks are carried out with. */
interface ServiceTaskParts {
  readonly egress: Pick<Egress, 'request'>;
  readonly secrets: Secrets;
  readonly redactor: Redactor;
  readonly clock: Pick<Clock, 'now'>;
  /** Milliseconds for one request, redirects and body included. */
  readonly timeoutMs: number;
}

/**
 * The node `service_task` (specification 2, Node; decisions 2.6): one HTTP request through the tenant's egress, with
 * the key `<step_run_id>-<attempt>` in `Idempotency-Key`. 2xx succeeds, everything else fails. The other server sees
 * the same key again when a crash has a request repeated.
 */
export function serviceTask(parts: ServiceTaskParts): NodeType {
  const { egress, secrets, redactor, clock, timeoutMs } = parts;

  async function send(task: StepTask, request: ServiceRequest, secret: ResolvedSecrets, record: JsonObject) {
    const outgoing = {
      url: request.url,
      method: request.method,
      headers: { ...request.headers, ...secret.headers },
      body: request.body,
      redirects: MAX_REDIRECTS,
      timeout: timeoutMs,
      // The bound is here, so that a refusal with a long body is still a refusal.
      maxBytes: Number.POSITIVE_INFINITY,
      signal: task.signal,
      requestId: task.idempotencyKey,
      userId: task.startedBy,
    };
    try {
      return await whenAdmitted(() => egress.request(task.tenantId, outgoing), task.signal);
    } catch (error) {
      task.signal.throwIfAborted();
      throw egressFailure(error, record);
    }
  }

  async function read(task: StepTask, response: EgressResponse, secret: ResolvedSecrets, record: JsonObject) {
    try {
      return await readAnswer(response, secret.hide);
    } catch (error) {
      task.signal.throwIfAborted();
      if (error instanceof StepFailure) throw withRecord(error, record);
      throw egressFailure(error, record);
    }
  }

  async function refusal(response: EgressResponse, secret: ResolvedSecrets, record: JsonObject) {
    // At the start it would bring Node's own `fetch` with it, which takes a while to load.
    const { STATUS_CODES } = await import('node:http');
    const { status, url, headers } = response;
    const excerpt = await readExcerpt(response, (text) => redactor.redact(secret.hide(text)));
    const said = `${new URL(url).host} answered ${status} (${STATUS_CODES[status] ?? 'no known status'})`;
    return new StepFailure('service_status', excerpt === '' ? `${said}.` : `${said}: ${excerpt}`, {
      isRetryable: isPassingStatus(status),
      retryAfterMs: parseRetryAfter(headers['retry-after'], clock.now()),
      record,
    });
  }

  return {
    type: 'service_task',
    summary: 'Sends an HTTP request; the answer is the output.',
    config: ServiceTaskConfig,
    templates: serviceTaskTemplates,
    check: (config) => [
      ...checkServiceTask(config),
      ...secretHeaderProblems(config.secret_headers).map(({ name, message }) => ({
        pointer: pointerTo('secret_headers', name),
        message,
      })),
    ],
    async execute(task) {
      const request = serviceRequest(task.input, task.idempotencyKey);
      const place = { method: request.method, url: shownUrl(request.url, redactor) };
      const secret = await resolveSecrets(secrets, task.input.secret_headers, {
        tenantId: task.tenantId,
        url: request.url,
      });
      const response = await send(task, request, secret, place);
      const { status, headers, redirected, url } = response;
      const retryAfter = headers['retry-after'];
      const record = {
        ...place,
        status,
        ...(redirected && { redirected_to: shownUrl(new URL(url), redactor) }),
        ...(typeof retryAfter === 'string' && { retry_after: retryAfter.slice(0, 64) }),
      };
      if (status < 200 || status > 299) throw await refusal(response, secret, record);
      const { output, bytes } = await read(task, response, secret, record);
      return { output, record: { ...record, bytes } };
    },
  };
}

function withRecord({ code, message, isRetryable, cause }: StepFailure, record: JsonObject): StepFailure {
  return new StepFailure(code, message, { isRetryable, record, cause });
}

const ASK =
  'Ask the operator of the gateway: rules for hosts are at /admin/v1/egress/rules, private addresses are opened with SVC_EGRESS_ALLOW_PRIVATE.';

/** Codes of steps by the codes of egress. */
const KINDS: Readonly<Record<string, { readonly code: string; readonly isRetryable: boolean }>> = {
  [EgressErrors.denied.definition.code]: { code: 'egress_denied', isRetryable: false },
  [EgressErrors.malformed.definition.code]: { code: 'bad_request', isRetryable: false },
  [EgressErrors.tooLarge.definition.code]: { code: 'response_too_large', isRetryable: false },
  [EgressErrors.tooManyRedirects.definition.code]: { code: 'too_many_redirects', isRetryable: false },
  [EgressErrors.badRedirect.definition.code]: { code: 'bad_redirect', isRetryable: false },
  [EgressErrors.timeout.definition.code]: { code: 'service_timeout', isRetryable: true },
  [EgressErrors.unreachable.definition.code]: { code: 'service_unreachable', isRetryable: true },
};

const TLS = /^(?:ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|ERR_OSSL|EPROTO)/;
const DNS_CALL = /^(?:query|getaddrinfo)/;

/**
 * The failure of a step for what egress threw: refusals are final, what may pass is not. The message is that of egress,
 * which names the host and never the URL. An error without a code of a catalogue is rethrown.
 */
function egressFailure(thrown: unknown, record: JsonObject): StepFailure {
  if (!(thrown instanceof GatewayError)) throw thrown;
  const { code, isRetryable } = KINDS[thrown.code] ?? { code: 'service_failed', isRetryable: true };
  const message = code === 'egress_denied' ? `${thrown.detail} ${ASK}` : thrown.detail;
  return new StepFailure(code === 'service_unreachable' ? closer(thrown) : code, message, {
    isRetryable,
    record,
    cause: thrown,
  });
}

/** Why the host was not reached, as far as the system says. */
function closer({ cause }: Error): string {
  const { code, syscall } = (cause ?? {}) as { readonly code?: unknown; readonly syscall?: unknown };
  if (typeof syscall === 'string' && DNS_CALL.test(syscall)) return 'service_dns';
  if (typeof code === 'string' && TLS.test(code)) return 'service_tls';
  return 'service_unreachable';
}

/** Statuses that may pass: other statuses below 500 would be answered the same way again (decisions 2.6). */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);

/** True for an answer after which another attempt makes sense. */
function isPassingStatus(status: number): boolean {
  return status >= 500 || PASSING.has(status);
}

const PAUSES = { first: 50, most: 1_000 };

/**
 * Sends as soon as egress has room. The limit of a tenant's open requests belongs to the gateway and is no fault of the
 * workflow: a step above the limit waits until its deadline aborts `signal`. A request that egress refuses for this
 * reason was not sent; if a redirect finds no room, the request before it is repeated, with the same key. Everything
 * else that `send` throws is rethrown.
 */
function whenAdmitted<T>(send: () => Promise<T>, signal: AbortSignal): Promise<T> {
  return retryWhile(send, { isPassing: EgressErrors.busy.is, pauses: PAUSES }, signal);
}

/** Characters of a URL that is shown at most. */
const MAX_SHOWN = 1_000;
const HIDDEN = '[REDACTED]';

/**
 * A URL for histories: without user, password and fragment, with credentials in its query taken out, 1,000 characters
 * at most. Pure.
 */
export function shownUrl(url: URL, redactor: Pick<Redactor, 'redact'>): string {
  const query = [...url.searchParams].map(([name, value]) =>
    isSensitiveName(name)
      ? `${encodeURIComponent(name)}=${HIDDEN}`
      : `${encodeURIComponent(name)}=${encodeURIComponent(value)}`,
  );
  const text = redactor.redact(
    `${url.origin}${url.pathname}${query.length === 0 ? '' : `?${query.join('&')}`}`,
  );
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN - 1).toWellFormed()}…`;
}
