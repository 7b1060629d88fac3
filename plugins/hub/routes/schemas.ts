import { AnyId, type FieldError, Id, listOf, Timestamp, Type, type UnreadBody } from 'agent-gateway';
import { publicKeyProblem } from '../rules/public-key.ts';

const MAX_URL = 2_048;
const CAPABILITY = 'must be 1 to 64 printable characters of ASCII, without spaces';

const KEY_EXAMPLE = '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=';
const PublicKey = Type.String({
  maxLength: 64,
  description: '32 bytes of Ed25519 in base64',
  examples: [KEY_EXAMPLE],
});
const NodeId = Type.String({ examples: ['node-a'] });
const Url = (example: string) => Type.String({ minLength: 1, maxLength: MAX_URL, examples: [example] });
const ENDPOINT = 'https://node-a.example';

export const NodeParams = Type.Object({ id: NodeId });

export const RegisterNode = Type.Object(
  {
    node_id: Type.String({
      pattern: '^(?!hub-[0-9a-f]{16}$)[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$',
      patternErrorMessage:
        'must be 1 to 128 letters, digits and . _ : @ -, begin with a letter or digit, and not be the id of a hub',
      description: 'Its name in the network: letters, digits and . _ : @ -, 128 at most',
      examples: ['node-a'],
    }),
    endpoint: Url(ENDPOINT),
    public_key: PublicKey,
    capabilities: Type.Optional(
      Type.Array(Type.String({ pattern: '^[!-~]{1,64}$', patternErrorMessage: CAPABILITY }), {
        maxItems: 32,
        description: 'Printable characters of ASCII, 64 at most',
        examples: [['genes']],
      }),
    ),
  },
  { additionalProperties: true },
);

/** For routes that need only the path and the signature. */
export const AnyBody = Type.String({ description: 'Anything, as it was signed', examples: ['{}'] });

export const ConfirmNode = Type.Object({ public_key: PublicKey });

export const Registered = Type.Object({
  node_id: NodeId,
  heartbeat_interval_seconds: Type.Integer({ examples: [30] }),
  ttl_seconds: Type.Integer({ examples: [60] }),
});

export const Node = Type.Object({
  node_id: NodeId,
  endpoint: Type.String({ examples: [ENDPOINT] }),
  public_key: PublicKey,
  capabilities: Type.Array(Type.String(), { examples: [['genes']] }),
  status: Type.Union([Type.Literal('healthy'), Type.Literal('expired'), Type.Literal('conflict')]),
  is_own: Type.Boolean({ description: 'Whether the caller is the owner of the node', examples: [true] }),
  conflict: Type.Optional(
    Type.Object({
      keys: Type.Array(
        Type.Object({ public_key: PublicKey, endpoint: Type.String({ examples: [ENDPOINT] }) }),
      ),
    }),
  ),
  registered_at: Timestamp,
  last_seen_at: Timestamp,
});
export const Nodes = listOf('nodes', Node);

export const GeneQuerySchema = Type.Object({
  q: Type.Optional(Type.String({ maxLength: 500 })),
  task_class: Type.Optional(Type.String({ maxLength: 128 })),
  min_confidence: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
});

export const Gene = Type.Object({
  geneId: Type.String({ examples: ['01a209b6-2688-7509-9c34-9e59379066ee'] }),
  name: Type.String({ examples: ['Use builtin/calculator for tasks about invoice, price'] }),
  taskClass: Type.String({ examples: ['refunds'] }),
  confidence: Type.Number({ minimum: 0, maximum: 1, examples: [0.8] }),
  strategy: Type.Object(
    {
      component: Type.String({ examples: ['builtin/calculator'] }),
      type: Type.String({ examples: ['prefer'] }),
    },
    { additionalProperties: true },
  ),
  signals: Type.Record(Type.String(), Type.Unknown(), { examples: [{ tool_success: 9 }] }),
  validation: Type.Record(Type.String(), Type.Unknown(), { examples: [{ advised: 4, succeeded: 4 }] }),
  qualityScore: Type.Number({ minimum: 0, maximum: 1, examples: [0.9] }),
  useCount: Type.Integer({ minimum: 0 }),
  successCount: Type.Integer({ minimum: 0 }),
  contributorId: Type.String({ examples: ['node-a'] }),
  source: Type.Union([Type.Literal('local'), Type.Literal('hub')]),
  syncedAt: Type.Union([Timestamp, Type.Null()]),
  createdAt: Timestamp,
  updatedAt: Timestamp,
});

export const Found = Type.Object({
  results: Type.Array(Gene),
  nodes_queried: Type.Integer({ examples: [3] }),
  nodes_healthy: Type.Integer({ examples: [3] }),
});

const EventType = Type.Union([Type.Literal('gene_promoted'), Type.Literal('gene_revoked')]);
const CALLBACK = 'https://subscriber.example/genes';

/** A gene in a body. The handler refuses a value that has not the form of a gene, since it knows the bounds. */
const ReportedGene = Type.Object(
  {
    geneId: Type.String({ minLength: 1, maxLength: 128, examples: ['gene-1'] }),
    confidence: Type.Number({ minimum: 0, maximum: 1 }),
  },
  { additionalProperties: true },
);

export const ReportEvent = Type.Object(
  {
    type: EventType,
    gene: ReportedGene,
    event_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 128,
        description: 'Reported again with it, the event counts once',
      }),
    ),
  },
  { additionalProperties: true },
);
export const AcceptedEvent = Type.Object({ id: Id, deliveries: Type.Integer({ examples: [2] }) });

const StillPromoted = Type.Array(Type.String({ maxLength: 16, examples: ['prefer'] }), {
  maxItems: 16,
  description: 'Of a revoked gene: what of `prefer` and `avoid` other nodes still promote of its tool',
});

export const DeliveredEvent = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 128, examples: ['01a209b6-2688-7509-9c34-9e59379066ee'] }),
    type: EventType,
    gene: ReportedGene,
    still_promoted: Type.Optional(StillPromoted),
  },
  { additionalProperties: true },
);

const Filter = Type.Object(
  { min_confidence: Type.Optional(Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()])) },
  { additionalProperties: true },
);

export const Subscribe = Type.Object(
  {
    callback_url: Url(CALLBACK),
    events: Type.Array(EventType, {
      minItems: 1,
      maxItems: 16,
      examples: [['gene_promoted', 'gene_revoked']],
    }),
    filter: Type.Optional(Filter),
  },
  { additionalProperties: true },
);

export const SubscriptionParams = Type.Object({ id: AnyId });
export const LetterParams = Type.Object({ id: AnyId, letter: AnyId });

export const Subscription = Type.Object({
  id: Id,
  callback_url: Type.String({ examples: [CALLBACK] }),
  events: Type.Array(EventType),
  filter: Filter,
  signing_key_id: Type.String({ examples: ['hub-0123456789abcdef'] }),
  delivery: Type.Object({
    waiting: Type.Integer(),
    dead: Type.Integer(),
    delivered: Type.Integer(),
    failed_attempts: Type.Integer(),
    last_attempt_at: Type.Union([Timestamp, Type.Null()]),
    last_error: Type.Union([Type.String(), Type.Null()]),
  }),
  created_at: Timestamp,
});
export const SubscriptionList = listOf('subscriptions', Subscription);

export const DeadLetter = Type.Object({
  id: Id,
  event_id: Id,
  type: Type.Union([EventType, Type.Null()]),
  node_id: Type.Union([NodeId, Type.Null()]),
  gene: Type.Union([Gene, Type.Null()]),
  attempts: Type.Integer({ examples: [6] }),
  reason: Type.String({ examples: ['The subscriber answered 500.'] }),
  created_at: Timestamp,
});
export const DeadLetters = listOf('dead_letters', DeadLetter);
export const Revived = Type.Object({ retried: Type.Integer({ examples: [1] }) });

export const PublishedKey = Type.Object({
  key_id: Type.String({ examples: ['hub-0123456789abcdef'] }),
  public_key: PublicKey,
  retires_at: Type.Union([Timestamp, Type.Null()]),
});
export const PublishedKeys = Type.Object({ keys: Type.Array(PublishedKey) });

/** Rules for texts in a body, by the names of their members. Of a member that is no text its schema speaks. */
function textRules(rules: Readonly<Record<string, (text: string) => string | undefined>>) {
  return (body: UnreadBody): readonly FieldError[] =>
    Object.entries(rules).flatMap(([name, problemOf]) => {
      const value = body[name];
      const message = typeof value === 'string' ? problemOf(value) : undefined;
      return message === undefined ? [] : [{ pointer: `/body/${name}`, message }];
    });
}

/** What no schema says of a registration. Whether its address may be called asks DNS: that is checked last. */
export const nodeProblems = textRules({
  endpoint: (text) => urlProblem(text, 'base'),
  public_key: publicKeyProblem,
});

/** What no schema says of the key that an operator confirms. */
export const keyProblems = textRules({ public_key: publicKeyProblem });

/** What no schema says of a subscription. Here too DNS is asked last. */
export const subscriptionProblems = textRules({ callback_url: (text) => urlProblem(text, 'any') });

/** What is wrong with an address of a body; a `base` takes no query. */
function urlProblem(text: string, form: 'base' | 'any'): string | undefined {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    return 'must be an absolute URL with https or http';
  if (url.username !== '' || url.password !== '' || url.hash !== '')
    return 'must have neither user, password nor fragment';
  return form === 'base' && url.search !== '' ? 'must have no query' : undefined;
}

/** A base address without a problem, in the form in which it is stored. */
export const storedBase = (text: string): string => new URL(text).href.replace(/\/+$/, '');
