import { field, sharedSettings, Type } from 'agent-gateway';
import type { Static } from 'typebox';

/** Settings of the runtime. */
export const RuntimeConfig = Type.Object({
  address: field.address({
    env: 'SVC_RUNTIME_ADDR',
    default: '0.0.0.0:8888',
    description:
      'Address of the v2 API; it is served on the gateway’s own address as well, unless `SVC_ONE_PORT=false`',
  }),
  admin_api_key: field.string({
    env: 'ADMIN_API_KEY',
    secret: true,
    min: 16,
    unset: 'administrators of the gateway alone',
    description:
      'Key of 16 characters or more, of an administrator of the default tenant on the routes of the v2 API',
  }),
  secret_key: sharedSettings.secretKey,
  secret_key_previous: sharedSettings.secretKeyPrevious,
  webhook_backoff: field.list({
    env: 'SVC_WEBHOOK_BACKOFF',
    default: ['1s', '5s', '30s', '120s'],
    description:
      'Delays before the second attempt to deliver an event to a webhook, the third and so on; after as many retries it is given up',
  }),
  chat_event_retention: field.duration({
    env: 'SVC_CHAT_EVENT_RETENTION',
    default: '24h',
    min: '1m',
    max: '720h',
    description: 'For how long a chat in the background can be read again',
  }),
  max_file_size: field.size({
    env: 'SVC_MAX_FILE_SIZE',
    default: '32MiB',
    min: '1KiB',
    max: '4GiB',
    description: 'Bytes of one uploaded file; a larger one is 413',
  }),
});

export type RuntimeSettings = Static<typeof RuntimeConfig>;
