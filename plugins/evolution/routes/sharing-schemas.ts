import { expectsNumber, Id, ifMatchHeader, listOf, pageQuery, Timestamp, Type } from 'agent-gateway';
import { SHARING_MODES } from '../contract.ts';
import type { Change } from '../services/sharing/add-version.ts';
import { NAME_LENGTH, REASON_LENGTH } from '../store/tables.ts';

const Mode = Type.Enum([...SHARING_MODES], { examples: ['anonymous'] });
const VersionNumber = Type.Integer({ description: '0 where no policy has been written', examples: [3] });
const MAX_VERSION = 2 ** 31 - 1;

const Reason = Type.Optional(
  Type.String({
    maxLength: REASON_LENGTH,
    pattern: '^[^\\p{Cc}\\p{Cs}]*$',
    patternErrorMessage: 'must not hold control characters',
    description: 'Why, for the history',
    examples: ['Agreed with the board'],
  }),
);
const textOrNull = (schema: object) => Type.Unsafe<string | null>({ ...schema, type: ['string', 'null'] });
const Signature = {
  updated_at: textOrNull({ ...Timestamp, description: 'Null of version 0' }),
  updated_by: textOrNull({ description: 'The identity that wrote it; null of version 0' }),
  reason: textOrNull({ description: 'Why' }),
};

export const HistoryQuery = pageQuery({ defaultLimit: 50 });
export const IfMatch = ifMatchHeader('the version');
export const ETag = Type.Object({
  etag: Type.Optional(Type.String({ description: 'The version, for `If-Match`' })),
});

export const GlobalPolicy = Type.Object({
  mode: Mode,
  levels: Type.Array(Mode, {
    description: 'The modes, from the least to the most',
    examples: [[...SHARING_MODES]],
  }),
  version: VersionNumber,
  ...Signature,
});
export const TenantChoice = {
  consume_shared: Type.Boolean({ description: 'Whether its agents take what others share' }),
  contribution_mode: Mode,
  labels: Type.Array(
    Type.String({
      minLength: 1,
      maxLength: 64,
      pattern: '^[^\\p{Cc}\\p{Cs}]+$',
      patternErrorMessage: 'must not hold control characters',
    }),
    { maxItems: 16, uniqueItems: true, description: 'Labels of its contributions', examples: [['support']] },
  ),
};
export const TenantPolicy = Type.Object({
  tenant_id: Id,
  global_mode: Mode,
  ...TenantChoice,
  effective_contribution_mode: Mode,
  version: VersionNumber,
  ...Signature,
});
export const GlobalHistory = listOf('entries', GlobalPolicy);
export const TenantHistory = listOf('entries', TenantPolicy);

const strict = { additionalProperties: false };
export const SetGlobal = Type.Object({ mode: Mode, reason: Reason }, strict);
export const SetTenant = Type.Object(
  { ...Type.Partial(Type.Object(TenantChoice)).properties, reason: Reason },
  strict,
);
export const RollBack = Type.Object(
  { version: Type.Integer({ minimum: 1, maximum: MAX_VERSION, examples: [1] }), reason: Reason },
  strict,
);

const Narrow = Type.Optional(Type.String({ minLength: 1, maxLength: NAME_LENGTH }));
export const Revoke = Type.Object(
  {
    task_class: Narrow,
    source_tenant: Type.Optional(
      Type.String({ minLength: 1, maxLength: NAME_LENGTH, description: 'The tenant that contributed it' }),
    ),
    source: Type.Optional(Type.Enum(['local', 'hub'])),
    from: Type.Optional(Timestamp),
    to: Type.Optional(Timestamp),
    confirm_all: Type.Optional(Type.Boolean({ description: 'True: no filter is meant' })),
    reason: Reason,
  },
  { ...strict, examples: [{ task_class: 'refunds' }] },
);
export const Revoked = Type.Object({ deleted: Type.Integer({ examples: [12] }) });

/** The author and reason of a change, and the version that it expects. */
export function changeOf(by: string, reason: string | undefined, header: string | undefined): Change {
  return { by, reason: reason ?? null, expects: (version) => expectsNumber(header, version) };
}
