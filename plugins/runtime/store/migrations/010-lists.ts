import type { Migration } from 'agent-gateway';

/**
 * Conversations and files of an identity, and conversations with an agent, are read in the order of their lists. A
 * released migration never changes.
 */
export const lists: Migration = {
  name: '010-lists',
  up: (schema) => [
    schema
      .createIndex('runtime_conversations_identity')
      .on('runtime_conversations')
      .columns(['tenant_id', 'identity_id', 'created_at', 'id']),
    schema
      .createIndex('runtime_conversations_bot')
      .on('runtime_conversations')
      .columns(['tenant_id', 'bot_id', 'created_at', 'id']),
    schema
      .createIndex('files_identity')
      .on('files')
      .columns(['tenant_id', 'identity_id', 'created_at', 'id']),
  ],
};
