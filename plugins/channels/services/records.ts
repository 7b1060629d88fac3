import { Id, REFERENCE_FORMS, Timestamp, Type, toWire } from 'agent-gateway';
import { PLATFORMS } from '../contract.ts';

const SecretReference = Type.Union([Type.String(), Type.Null()], { description: REFERENCE_FORMS });
const Moment = Type.Union([Timestamp, Type.Null()]);

/** A platform by its name. */
export const PlatformName = Type.Enum([...PLATFORMS]);

/** A channel app as clients see it (decisions 1.10): references, never a secret. */
export const AppSchema = Type.Object({
  id: Id,
  tenant_id: Id,
  platform: PlatformName,
  app_key: Type.String({ examples: ['cli_a1b2c3'] }),
  app_secret_ref: Type.Union([Type.String(), Type.Null()], {
    description: REFERENCE_FORMS,
    examples: ['env:FEISHU_SECRET'],
  }),
  oauth_secret_ref: SecretReference,
  webhook_secret_ref: SecretReference,
  enabled: Type.Boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
});

/** A binding as clients see it (decisions 1.10): of the provider's user a hash. */
export const BindingSchema = Type.Object({
  id: Id,
  tenant_id: Id,
  channel_app_id: Id,
  platform: PlatformName,
  provider_user_hash: Type.String({
    description: 'HMAC-SHA256, 64 hexadecimal digits',
    examples: ['c405c7754cb82b19aeab373e2a70d6f04b82ed1c3143b6a36d1c4d119ac5b42c'],
  }),
  user_id: Type.String({ ...Id, description: 'The identity of the sessions' }),
  created_at: Timestamp,
  last_login_at: Timestamp,
  revoked_at: Moment,
});

export const toApp = toWire(AppSchema);
export const toBinding = toWire(BindingSchema);
