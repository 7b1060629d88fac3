import pino from 'pino';
import { systemClock } from '../../../../kernel/services/clock.ts';
import { createIds } from '../../../../kernel/services/ids.ts';
import type { QueueObserver } from '../../../../kernel/services/queue/queue.ts';

/** What a queue needs, saying nothing. */
export const clock = systemClock;
export const ids = createIds(systemClock);
export const log = pino({ level: 'silent' });
export const observe: QueueObserver = { published: () => undefined, delivered: () => undefined };
