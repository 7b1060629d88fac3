import { STATUS_CODES } from 'node:http';
import type { Egress, EgressResponse, Secrets } from 'agent-gateway';
import type { JsonObject } from '../../../contract/graph.ts';
import { type NodeType, StepFailure, type StepTask } from '../../../contract/node-types.ts';
import { checkServiceTask, ServiceTaskConfig, serviceTaskTemplates } from '../../graph/builtin-config.ts';
import { pointerTo } from '../../graph/json.ts';
import type { Redactor } from '../../views/redaction.ts';
import { readAnswer, readExcerpt } from './service-answer.ts';
import { egressFailure, isPassingStatus } from './service-failure.ts';
import { type ServiceRequest, serviceRequest } from './service-request.ts';
import { type ResolvedSecrets, resolveSecrets, secretHeaderProblems } from './service-secrets.ts';
import { shownUrl } from './shown-url.ts';
import { whenAdmitted } from './when-admitted.ts';

/** Redirects that are followed at most (decisions 2.6). */
const MAX_REDIRECTS = 5;

/** What service tasks are carried out with. */
export interface ServiceTaskParts {
  readonly egress: Pick<Egress, 'request'>;
  readonly secrets: Secrets;
  readonly redactor: Redactor;
  /** Milliseconds for one request, redirects and body included. */
  readonly timeoutMs: number;
}

/**
 * The node `service_task` (specification 2, Node; decisions 2.6): one HTTP request through the tenant's egress, with the key
 * `<step_run_id>-<attempt>` in `Idempotency-Key`. 2xx succeeds, everything else fails. The other server sees the same key again when a crash has a
 * request repeated.
 */
export function serviceTask(parts: ServiceTaskParts): NodeType {
  const { egress, secrets, redactor, timeoutMs } = parts;

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
    const { status, url } = response;
    const excerpt = await readExcerpt(response, (text) => redactor.redact(secret.hide(text)));
    const said = `${new URL(url).host} answered ${status} (${STATUS_CODES[status] ?? 'no known status'})`;
    return new StepFailure('service_status', excerpt === '' ? `${said}.` : `${said}: ${excerpt}`, {
      isRetryable: isPassingStatus(status),
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
      const secret = await resolveSecrets(secrets, task.input.secret_headers);
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
