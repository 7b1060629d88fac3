import { type Redis, type RedisScript, redisScript } from '../redis/redis.ts';
import type { LeasePlace } from './lease-request.ts';
import { type LeaseStore, type LeaseTicket, PLACE_MS, type Renewal } from './lease-store.ts';
import type { LeaseRefusal } from './leases.ts';

/*
 * KEYS: until, holders, line, places. `until` is a sorted set of names by the end of their leases, `holders` a hash of
 * the same names: the ticket (36 characters), `1` where the holder is asked to end, else `0`, and the note. `line` has
 * the tickets that wait for one name by their order, `places` the same by the time until which their places are kept.
 * All keys of a lease's key have one hash tag, so that they lie in one slot of a cluster. Times are microseconds of the
 * clock of Redis. ARGV[1] is the name, ARGV[2] the ticket.
 */
const PRELUDE = `
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
local name, ticket = ARGV[1], ARGV[2]
local function text(number) return string.format('%.0f', number) end
local ends = redis.call('zscore', KEYS[1], name)
local isHeld = ends and tonumber(ends) > now
local holder = isHeld and redis.call('hget', KEYS[2], name) or ''
local isOwn = holder ~= '' and string.sub(holder, 1, 36) == ticket
local function isFull(limit) return redis.call('zcount', KEYS[1], '(' .. text(now), '+inf') >= limit end
local function hold(ttl, value)
  redis.call('zadd', KEYS[1], text(now + ttl * 1000), name)
  redis.call('hset', KEYS[2], name, value)
  for index = 1, 2 do
    if redis.call('pttl', KEYS[index]) < ttl then redis.call('pexpire', KEYS[index], ttl) end
  end
end
local function drop(names)
  redis.call('zrem', KEYS[1], unpack(names))
  redis.call('hdel', KEYS[2], unpack(names))
end
local function leaveLine(tickets)
  redis.call('zrem', KEYS[3], unpack(tickets))
  redis.call('zrem', KEYS[4], unpack(tickets))
end
local function first()
  local gone = redis.call('zrangebyscore', KEYS[4], '-inf', text(now), 'limit', 0, 1000)
  if #gone > 0 then leaveLine(gone) end
  return redis.call('zrange', KEYS[3], 0, 0)[1]
end
`;

/** ARGV: name, ticket, note, limit, ttl ms, place ms or 0. Answers `granted`, `held` or `full`. */
const TAKE = redisScript(`${PRELUDE}
if isOwn then
  hold(tonumber(ARGV[5]), holder)
  return 'granted'
end
local gone = redis.call('zrangebyscore', KEYS[1], '-inf', text(now), 'limit', 0, 1000)
if #gone > 0 then drop(gone) end
if isHeld or (first() or ticket) ~= ticket then
  if ARGV[6] ~= '0' then
    local last = redis.call('zrange', KEYS[3], -1, -1, 'withscores')[2]
    redis.call('zadd', KEYS[3], 'nx', text(tonumber(last or '0') + 1), ticket)
    redis.call('zadd', KEYS[4], text(now + ARGV[6] * 1000), ticket)
    redis.call('pexpire', KEYS[3], ARGV[6])
    redis.call('pexpire', KEYS[4], ARGV[6])
  end
  return 'held'
end
if isFull(tonumber(ARGV[4])) then return 'full' end
hold(tonumber(ARGV[5]), ticket .. '0' .. ARGV[3])
leaveLine({ticket})
return 'granted'
`);

/**
 * ARGV as for TAKE, without the last. Answers `held`, `revoked` or `gone`. A holder that Redis has forgotten (it was
 * emptied or restarted) gets its lease again, where there is room.
 */
const RENEW = redisScript(`${PRELUDE}
if not isHeld and not isFull(tonumber(ARGV[4])) then
  holder = ticket .. '0' .. ARGV[3]
  isOwn = true
end
if not isOwn then return 'gone' end
hold(tonumber(ARGV[5]), holder)
return string.sub(holder, 37, 37) == '1' and 'revoked' or 'held'
`);

/** ARGV: name, ticket. Answers 1 when others wait for the name. */
const RELEASE = redisScript(`${PRELUDE}
leaveLine({ticket})
if string.sub(redis.call('hget', KEYS[2], name) or '', 1, 36) == ticket then drop({name}) end
return first() and 1 or 0
`);

/** ARGV: name. Answers the ticket of the holder, or nothing. */
const REVOKE = redisScript(`${PRELUDE}
if holder == '' then return '' end
local held = string.sub(holder, 1, 36)
redis.call('hset', KEYS[2], name, held .. '1' .. string.sub(holder, 38))
return held
`);

/** ARGV: name. Answers what is kept of the holder, or nothing. */
const FIND = redisScript(`${PRELUDE}
return holder
`);

/** Answers names and what is kept of their holders, by turns. */
const LIST = redisScript(`${PRELUDE}
local found = {}
for _, held in ipairs(redis.call('zrangebyscore', KEYS[1], '(' .. text(now), '+inf')) do
  local kept = redis.call('hget', KEYS[2], held)
  if kept then
    table.insert(found, held)
    table.insert(found, kept)
  end
end
return found
`);

/** Characters before the note in what Redis keeps of a holder: the ticket, and whether it is asked to end. */
const BEFORE_NOTE = 37;

/**
 * Leases in one Redis. What it forgets (a restart, a failover to a replica, an emptied database) the holders take again
 * with their next renewal; until then, a third of their time, others may get in. The keys need a Redis that evicts
 * nothing.
 *
 * @param prefix start of all keys: deployments that share a Redis need one each
 */
export function createRedisStore(redis: Redis, prefix: string): LeaseStore {
  const run = (script: RedisScript, { key, name }: LeasePlace, ...args: (string | number)[]) => {
    const tag = `{${prefix}:${key}}`;
    const keys = [`${tag}:until`, `${tag}:holders`, `${tag}:line:${name}`, `${tag}:places:${name}`];
    return redis.run(script, keys, [name, ...args]);
  };
  const all = ({ id, note, limit, ttl }: LeaseTicket) => [id, note, limit, ttl] as const;
  return {
    isLeased: true,
    take: async (ticket, inLine) =>
      (await run(TAKE, ticket, ...all(ticket), inLine ? PLACE_MS : 0)) as 'granted' | LeaseRefusal,
    renew: async (ticket) => (await run(RENEW, ticket, ...all(ticket))) as Renewal,
    release: async (ticket) => (await run(RELEASE, ticket, ticket.id)) === 1,
    revoke: async (place) => ((await run(REVOKE, place)) as string) || undefined,
    async find(place) {
      const holder = (await run(FIND, place)) as string;
      return holder === '' ? undefined : { note: holder.slice(BEFORE_NOTE) };
    },
    async list(key) {
      const found = (await run(LIST, { key, name: '' })) as string[];
      const places = Array.from({ length: found.length / 2 }, (_, index) => 2 * index);
      return places.map((at) => ({ name: found[at]!, note: found[at + 1]!.slice(BEFORE_NOTE) }));
    },
  };
}
