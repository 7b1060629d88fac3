import type { Migration } from 'agent-gateway';

/** Everything. A released migration never changes. */
const initial: Migration = {
  name: '001-initial',
  up: (schema, types) => [
    schema
      .createTable('hub_nodes')
      .addColumn('id', types.string(128), (is) => is.notNull().primaryKey())
      .addColumn('endpoint', types.text, (is) => is.notNull())
      .addColumn('public_key', types.string(44), (is) => is.notNull())
      .addColumn('capabilities', types.json, (is) => is.notNull())
      .addColumn('rival_key', types.string(44))
      .addColumn('rival_endpoint', types.text)
      .addColumn('registered_at', types.time, (is) => is.notNull())
      .addColumn('last_seen_at', types.time, (is) => is.notNull()),
    schema.index('hub_nodes', 'seen', ['last_seen_at', 'id']),

    schema
      .createTable('hub_spent')
      .addColumn('id', types.string(64), (is) => is.notNull().primaryKey())
      .addColumn('expires_at', types.time, (is) => is.notNull()),
    schema.index('hub_spent', 'expiry', ['expires_at']),

    schema
      .createTable('hub_genes')
      .addColumn('id', types.string(64), (is) => is.notNull().primaryKey())
      .addColumn('node_id', types.string(128), (is) => is.notNull())
      .addColumn('gene_id', types.string(128), (is) => is.notNull())
      .addColumn('content', types.string(64), (is) => is.notNull())
      .addColumn('gene', types.json, (is) => is.notNull())
      .addColumn('state', types.string(16), (is) => is.notNull())
      .addColumn('was_promoted', types.boolean, (is) => is.notNull())
      .addColumn('updated_at', types.time, (is) => is.notNull()),
    schema.index('hub_genes', 'gene', ['gene_id']),
    schema.index('hub_genes', 'content', ['content', 'state']),
    schema.index('hub_genes', 'node', ['node_id']),
    schema.index('hub_genes', 'updated', ['updated_at', 'id']),

    schema
      .createTable('hub_events')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('type', types.string(16), (is) => is.notNull())
      .addColumn('node_id', types.string(128), (is) => is.notNull())
      .addColumn('gene', types.json, (is) => is.notNull())
      .addColumn('created_at', types.time, (is) => is.notNull()),
    schema.index('hub_events', 'created', ['created_at', 'id']),

    schema
      .createTable('hub_subscriptions')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('owner', types.string(64), (is) => is.notNull())
      .addColumn('callback_url', types.text, (is) => is.notNull())
      .addColumn('events', types.json, (is) => is.notNull())
      .addColumn('min_confidence', types.double)
      .addColumn('signing_key_id', types.string(32), (is) => is.notNull())
      .addColumn('delivered', types.integer, (is) => is.notNull().defaultTo(0))
      .addColumn('failed_attempts', types.integer, (is) => is.notNull().defaultTo(0))
      .addColumn('last_attempt_at', types.time)
      .addColumn('last_error', types.string(500))
      .addColumn('created_at', types.time, (is) => is.notNull()),
    schema.index('hub_subscriptions', 'owner', ['owner', 'created_at', 'id']),

    schema
      .createTable('hub_deliveries')
      .addColumn('id', types.id, (is) => is.notNull().primaryKey())
      .addColumn('event_id', types.id, (is) => is.notNull())
      .addColumn('subscription_id', types.id, (is) => is.notNull())
      .addColumn('state', types.string(8), (is) => is.notNull())
      .addColumn('attempts', types.integer, (is) => is.notNull().defaultTo(0))
      .addColumn('due_at', types.time, (is) => is.notNull())
      .addColumn('claimed_until', types.time, (is) => is.notNull())
      .addColumn('ticket', types.id, (is) => is.notNull())
      .addColumn('reason', types.string(500))
      .addColumn('created_at', types.time, (is) => is.notNull()),
    schema.index('hub_deliveries', 'due', ['state', 'subscription_id', 'due_at']),
    schema.index('hub_deliveries', 'created', ['subscription_id', 'state', 'created_at', 'id']),

    schema
      .createTable('hub_keys')
      .addColumn('id', types.string(32), (is) => is.notNull().primaryKey())
      .addColumn('use', types.string(8), (is) => is.notNull())
      .addColumn('generation', types.integer, (is) => is.notNull())
      .addColumn('public_key', types.string(44), (is) => is.notNull())
      .addColumn('private_key', types.text, (is) => is.notNull())
      .addColumn('created_at', types.time, (is) => is.notNull())
      .addColumn('retires_at', types.time),
    schema.index('hub_keys', 'generation', ['use', 'generation']).unique(),
  ],
};

/** The highest confidence with which a gene was promoted. A released migration never changes. */
const promotedWith: Migration = {
  name: '002-promoted-with',
  up: (schema, types) => [schema.alterTable('hub_genes').addColumn('promoted_with', types.double)],
};

/** What of a revoked gene other nodes still promoted. A released migration never changes. */
const stillPromoted: Migration = {
  name: '003-still-promoted',
  up: (schema, types) => [schema.alterTable('hub_events').addColumn('still_promoted', types.string(16))],
};

/** What nodes promoted that had been deleted before a deletion took it along. A released migration never changes. */
const leftBehind: Migration = {
  name: '004-left-behind',
  up: (_schema, _types, queries) => [
    queries
      .deleteFrom('hub_genes')
      .where('state', '=', 'promoted')
      .where('node_id', 'not in', queries.selectFrom('hub_nodes').select('id')),
  ],
};

/** Who registered a node. A released migration never changes. */
const owners: Migration = {
  name: '005-owners-of-nodes',
  up: (schema, types) => [
    schema.alterTable('hub_nodes').addColumn('owner', types.string(64)),
    schema.alterTable('hub_nodes').addColumn('rival_owner', types.string(64)),
    schema.index('hub_nodes', 'owner', ['owner']),
    schema.index('hub_nodes', 'registered', ['registered_at', 'id']),
  ],
};

/** Finds the tombstones for a search, however many genes are promoted. A released migration never changes. */
const tombstones: Migration = {
  name: '006-tombstones',
  up: (schema) => [schema.index('hub_genes', 'state', ['state', 'updated_at', 'id'])],
};

/** The migrations of the hub, in order. */
export const migrations: readonly Migration[] = [
  initial,
  promotedWith,
  stillPromoted,
  leftBehind,
  owners,
  tombstones,
];
