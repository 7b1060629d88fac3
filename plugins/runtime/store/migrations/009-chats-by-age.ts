import type { Migration } from 'agent-gateway';

/** Old chats are searched in all tenants at once. A released migration never changes. */
export const chatsByAge: Migration = {
  name: '009-chats-by-age',
  up: (schema) => [
    schema.createIndex('runtime_chats_age').on('runtime_chats').columns(['created_at']),
    schema.dropIndex('runtime_chats_created', 'runtime_chats'),
  ],
};
