import { field } from './field.ts';

const key = { min: 32, max: 1024, secret: true } as const;

/**
 * Settings that more than one plugin reads from the same variable: stated once, so that they mean the same everywhere.
 *
 * @example
 * const config = Type.Object({ public_url: sharedSettings.publicUrl });
 */
export const sharedSettings = {
  /** For `createSeal`, with the one before. */
  secretKey: field.string({
    env: 'SVC_SECRET_KEY',
    ...key,
    unset: 'they are stored as they are',
    description:
      'Key of 32 characters or more that encrypts secrets of webhooks and private keys of the hub in the database; the same on every replica',
  }),
  secretKeyPrevious: field.string({
    env: 'SVC_SECRET_KEY_PREVIOUS',
    ...key,
    unset: 'none',
    description:
      'Second key that reads what it has encrypted, while `SVC_SECRET_KEY` is exchanged; each start encrypts that anew with `SVC_SECRET_KEY`',
  }),
  /** Where others find this gateway. */
  publicUrl: field.url({
    protocols: ['https', 'http'],
    env: 'SAAS_PUBLIC_URL',
    unset: 'logging in through a channel is off, and the gateway registers at no hub',
    description:
      'Address by which browsers and hubs reach the gateway: login links and returns from providers begin with it, and hubs of which it is a node call it',
  }),
} as const;
