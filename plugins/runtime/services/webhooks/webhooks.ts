import {
  type Clock,
  type Database,
  defineErrors,
  type Egress,
  EgressErrors,
  type ErrorFactory,
  type FieldError,
  GatewayError,
  type Ids,
  isUuid,
  type Leases,
  type Page,
  type Seal,
} from 'agent-gateway';
import type { Guard } from '../../../agent-engine/contract.ts';
import {
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listLogs,
  listWebhooks,
  logWrite,
  type StoredLog,
  type StoredWebhook,
  trimLogs,
  updateWebhook,
} from '../../store/webhooks.ts';
import type { Deliveries } from './deliveries.ts';
import { eventBody } from './event-body.ts';
import { patternProblems } from './event-types.ts';
import { sealPlace, secretsIn } from './send.ts';
import { MAX_WEBHOOKS } from './webhook-events.ts';

/** The errors of the administration of webhooks. */
export const WebhookErrors = defineErrors({
  notFound: { code: 'webhook.not-found', kind: 'not-found', title: 'There is no such webhook' },
  invalid: { code: 'webhook.invalid', kind: 'invalid', title: 'The webhook is not valid' },
  tooMany: { code: 'webhook.too-many', kind: 'conflict', title: 'The tenant has too many webhooks' },
});

/** The members of a webhook that an administrator sets; absent ones stay as they are. */
export interface WebhookContent {
  readonly url: string;
  readonly events: readonly string[];
  readonly description: string;
  readonly active: boolean;
}

/** Random bytes of a secret (Standard Webhooks: 24 to 64). */
const SECRET_BYTES = 32;
/** Milliseconds for which previous secrets sign as well, so that receivers have time to change theirs. */
const ROTATION_MS = 24 * 3_600_000;
/** Previous secrets that sign; of more the oldest are dropped. */
const MOST_PREVIOUS = 10;

interface WebhooksParts {
  readonly database: Pick<Database, 'forTenant'>;
  readonly egress: Pick<Egress, 'check'>;
  readonly leases: Pick<Leases, 'withLease'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly seal: Seal;
  readonly guard: Pick<Guard, 'redactJsonText'>;
  readonly deliveries: Pick<Deliveries, 'attempt'>;
  readonly changed: (tenantId: string) => void;
}

export type Webhooks = ReturnType<typeof createWebhooks>;

/** The webhooks of tenants, for their administrators. Throws `webhook.not-found` for ids of other tenants too. */
export function createWebhooks(parts: WebhooksParts) {
  const { database, egress, leases, clock, ids, seal, guard, deliveries, changed } = parts;

  async function get(tenantId: string, id: string): Promise<StoredWebhook> {
    const webhook = isUuid(id) ? await findWebhook(database.forTenant(tenantId), id) : undefined;
    if (webhook === undefined) throw WebhookErrors.notFound();
    return webhook;
  }

  /** Changes a webhook and reads it again. */
  async function update(
    tenantId: string,
    id: string,
    changes: Partial<StoredWebhook>,
  ): Promise<StoredWebhook> {
    try {
      if (Object.keys(changes).length > 0) await updateWebhook(database.forTenant(tenantId), { id }, changes);
      return await get(tenantId, id);
    } finally {
      // Also after a failure: the commit may have happened although its answer was lost.
      changed(tenantId);
    }
  }

  const newSecret = () => `whsec_${ids.bytes(SECRET_BYTES).toString('base64')}`;

  async function check(tenantId: string, { url, events }: Partial<WebhookContent>): Promise<void> {
    const problems = [...patternProblems(events)];
    if (url !== undefined) problems.push(...(await urlProblems(tenantId, url)));
    if (problems.length > 0) throw WebhookErrors.invalid(undefined, { errors: problems });
  }

  async function urlProblems(tenantId: string, url: string): Promise<readonly FieldError[]> {
    try {
      await egress.check(tenantId, url);
      return [];
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      if (REFUSALS.has(error.code)) return [{ pointer: '/body/url', message: error.message }];
      // A name may begin to resolve later, and each delivery is checked again.
      if (UNKNOWN.has(error.code)) return [];
      throw error;
    }
  }

  return {
    get,
    list: (tenantId: string, page: Page) => listWebhooks(database.forTenant(tenantId), page),

    /** @returns the secret as well, only this once. Throws `webhook.invalid`, `webhook.too-many`. */
    async create(tenantId: string, content: WebhookContent) {
      await check(tenantId, content);
      const entities = database.forTenant(tenantId);
      const id = ids.uuid();
      const secret = newSecret();
      const webhook: StoredWebhook = {
        ...content,
        id,
        secret: seal.seal(secret, sealPlace(tenantId, id)),
        previousSecret: null,
        previousUntil: null,
        createdAt: clock.now(),
      };
      // One at a time, or concurrent callers would pass the bound together.
      await leases.withLease(`webhooks:${tenantId}`, { strict: true }, async () => {
        const { total } = await listWebhooks(entities, { limit: 0, offset: 0 });
        if (total >= MAX_WEBHOOKS) throw WebhookErrors.tooMany(`A tenant can have ${MAX_WEBHOOKS} webhooks.`);
        try {
          await insertWebhook(entities, webhook);
        } finally {
          changed(tenantId);
        }
      });
      return { webhook, secret };
    },

    /** Throws `webhook.invalid`. */
    async update(tenantId: string, id: string, content: Partial<WebhookContent>): Promise<StoredWebhook> {
      await get(tenantId, id);
      await check(tenantId, content);
      return await update(tenantId, id, content);
    },

    /**
     * Replaces the secret. For a day the previous one signs as well, with those that still did: where the call is
     * repeated, since its answer was lost, receivers have one of these. Those that the gateway cannot open are dropped.
     */
    async rotateSecret(tenantId: string, id: string) {
      const entities = database.forTenant(tenantId);
      const place = sealPlace(tenantId, id);
      const secret = newSecret();
      const sealed = seal.seal(secret, place);
      try {
        for (let isDone = false; !isDone; ) {
          const { secret: replaced, previousSecret: earlier, previousUntil } = await get(tenantId, id);
          const signing = (previousUntil ?? 0) > clock.now() ? [replaced, earlier] : [replaced];
          const previous = signing
            .filter((stored): stored is string => stored !== null && seal.opens(stored, place))
            .flatMap((stored) => secretsIn(seal.open(stored, place)))
            .slice(0, MOST_PREVIOUS);
          const previousSecret = previous.length === 0 ? null : seal.seal(previous.join(' '), place);
          const changes = { secret: sealed, previousSecret, previousUntil: clock.now() + ROTATION_MS };
          // Only over the secret that was read: a concurrent rotation has told another one to its caller, which has to
          // sign as well.
          isDone = await updateWebhook(entities, { id, secret: replaced }, changes);
        }
      } finally {
        changed(tenantId);
      }
      return { webhook: await get(tenantId, id), secret };
    },

    /** Deletes a webhook with its log; undelivered events are not delivered any more. */
    async remove(tenantId: string, id: string): Promise<void> {
      try {
        const isDeleted = isUuid(id) && (await deleteWebhook(database.forTenant(tenantId), id));
        if (!isDeleted) throw WebhookErrors.notFound();
      } finally {
        changed(tenantId);
      }
    },

    /** Sends a `webhook.test` event now and once, also where the webhook is not active. The attempt is in the log. */
    async test(tenantId: string, id: string, signal: AbortSignal): Promise<StoredLog> {
      const webhook = await get(tenantId, id);
      const entities = database.forTenant(tenantId);
      const event = { type: 'webhook.test', at: new Date(clock.now()), data: { webhook_id: id } };
      const message = { eventId: ids.uuid(), eventType: event.type, body: eventBody(event, guard) };
      const { entry } = await deliveries.attempt(entities, webhook, message, 1, signal);
      await entities.writeTogether([logWrite(entry)]);
      await trimLogs(entities, id);
      return entry;
    },

    /** The attempts, newest first. */
    async logs(tenantId: string, id: string, page: Page) {
      await get(tenantId, id);
      return listLogs(database.forTenant(tenantId), id, page);
    },
  };
}

/** Errors of the check of an address: it may not be that of a webhook, or its name does not resolve now. */
const REFUSALS: ReadonlySet<string> = codesOf(EgressErrors.denied, EgressErrors.malformed);
const UNKNOWN: ReadonlySet<string> = codesOf(EgressErrors.unreachable, EgressErrors.timeout);

function codesOf(...errors: readonly ErrorFactory[]): ReadonlySet<string> {
  return new Set(errors.map(({ definition }) => definition.code));
}
