import { eraseExpired, type Scope } from 'agent-gateway';
import { SessionDataPoint } from '../../../records/contract.ts';
import type { RuntimeSettings } from '../../config.ts';
import { ChatEventsTable, deleteEventsIn } from '../../store/chat-events.ts';
import { type BackgroundChats, createBackgroundChats } from './background-chats.ts';

const EXPIRY_EVERY_MS = 10 * 60_000;

/** Opens the background chats of all tenants. When the plugin stops, chats in progress get time to end. */
export function openBackgroundChats(scope: Scope<RuntimeSettings>): BackgroundChats {
  const { services, config } = scope;
  const { database, clock } = services;
  const chats = createBackgroundChats(services);
  scope.drain('chats in the background', chats.close);
  scope.every('chat-event-expiry', EXPIRY_EVERY_MS, (signal) => {
    const before = clock.now() - config.chat_event_retention;
    return eraseExpired(database, ChatEventsTable, { createdAt: { $lt: before } }, signal);
  });
  scope.contribute(SessionDataPoint, { remove: deleteEventsIn });
  return chats;
}
