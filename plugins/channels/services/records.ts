import { Timestamp, Type, toWire } from 'agent-gateway';
import { PLATFORMS } from '../contract.ts';

const orNull = (description?: string) =>
  Type.Union([Type.String(), Type.Null()], { ...(description && { description }) });
const Moment = Type.Union([Timestamp, Type.Null()]);

/** A platform by its name. */
export const PlatformName = Type.Enum([...PLATFORMS]);

/** A channel app as clients see it (decisions 1.10): references, never a secret. */
export const AppSchema = Type.Object({
  id: Type.String(),
  tenant_id: Type.String(),
  platform: PlatformName,
  app_key: Type.String(),
  app_secret_ref: orNull('env:NAME or file:PATH'),
  oauth_secret_ref: orNull('env:NAME or file:PATH'),
  webhook_secret_ref: orNull('env:NAME or file:PATH'),
  enabled: Type.Boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
});

/** A binding as clients see it (decisions 1.10): of the provider's user a hash. */
export const BindingSchema = Type.Object({
  id: Type.String(),
  tenant_id: Type.String(),
  channel_app_id: Type.String(),
  platform: PlatformName,
  provider_user_hash: Type.String({ description: 'HMAC-SHA256, 64 hexadecimal digits' }),
  user_id: Type.String({ description: 'The identity of the sessions' }),
  created_at: Timestamp,
  last_login_at: Timestamp,
  revoked_at: Moment,
});

export const toApp = toWire(AppSchema);
export const toBinding = toWire(BindingSchema);
