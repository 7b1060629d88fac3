import pino from 'pino';
import { systemClock } from '../../../../foundation/base/clock.ts';
import { createIds } from '../../../../foundation/base/ids.ts';
import { unreadMetrics } from '../../../support/metrics.ts';

/** What a queue needs, saying nothing. */
export const clock = systemClock;
export const ids = createIds(systemClock);
export const log = pino({ level: 'silent' });
export const metrics = unreadMetrics();
