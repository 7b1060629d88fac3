import { field, sharedSettings, Type } from 'agent-gateway';
import type { Static } from 'typebox';

/** Settings of the experience hub. */
export const HubConfig = Type.Object({
  address: field.address({
    env: 'HUB_ADDR',
    default: '0.0.0.0:3000',
    description:
      'Address of the experience hub; it is served on the gateway’s own address as well, unless `SVC_ONE_PORT=false`',
  }),
  db_path: field.string({
    env: 'HUB_DB_PATH',
    default: 'hub.db',
    min: 1,
    description:
      'File of the hub’s database where the gateway’s is SQLite, relative to `SVC_DATA_DIR`; with a server the hub’s tables are in the gateway’s database',
  }),
  api_keys: field.list({
    env: 'HUB_API_KEYS',
    secret: true,
    unset: 'callers on the loopback interface alone register nodes and subscribe',
    description:
      'Bearer keys of those who register nodes and subscribe, each an owner of its own; 16 characters or more each',
  }),
  delivery_backoff: field.list({
    env: 'HUB_DELIVERY_BACKOFF',
    default: ['1s', '5s', '30s', '2m', '10m'],
    description:
      'Delays before the second to the sixth attempt to deliver an event to a subscriber: five durations',
  }),
  key_overlap: field.duration({
    env: 'HUB_KEY_OVERLAP',
    default: '24h',
    min: '1m',
    max: '30d',
    description:
      'Time for which a key of the hub stays published, and signs for those who subscribed under it, after another has replaced it',
  }),
  secret_key: sharedSettings.secretKey,
  secret_key_previous: sharedSettings.secretKeyPrevious,
  public_url: sharedSettings.publicUrl,
});

export type HubSettings = Static<typeof HubConfig>;
