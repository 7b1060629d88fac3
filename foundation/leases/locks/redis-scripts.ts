/**
 * The operations of the locks in Redis, atomic as scripts. All keys have one hash tag, so that they lie in one slot of a
 * cluster together with the mark of the data: when the mark is not the expected one, the data was emptied or exchanged
 * and says nothing about who holds what.
 *
 * KEYS: mark, state, line, places. `state` is a hash (holder, until, fence), `line` a sorted set of tickets by their order,
 * `places` the same tickets by the time until which their places are kept. Times are microseconds of the clock of Redis.
 */
const PRELUDE = `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return {-1, ''} end
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]
local ticket = ARGV[2]
local function text(number) return string.format('%.0f', number) end
local state = redis.call('hmget', KEYS[2], 'holder', 'until', 'fence')
local holder, fence = state[1], tonumber(state[3] or '0')
local isHeld = holder and tonumber(state[2]) > now
local function first()
  local gone = redis.call('zrangebyscore', KEYS[4], '-inf', text(now), 'limit', 0, 1000)
  if #gone > 0 then
    redis.call('zrem', KEYS[4], unpack(gone))
    redis.call('zrem', KEYS[3], unpack(gone))
  end
  return redis.call('zrange', KEYS[3], 0, 0)[1]
end
`;

/** ARGV: mark, ticket, lease ms, remembered ms, fence to exceed, place ms or 0, '1' to jump. Answers {1, fence} or {0, ''}. */
export const TAKE = `${PRELUDE}
local isFree = holder == ticket
if not isHeld and not isFree then
  local oldest = first()
  isFree = not oldest or oldest == ticket or ARGV[7] == '1'
end
if isFree then
  fence = math.max(fence + 1, now, tonumber(ARGV[5]) + 1)
  redis.call('hset', KEYS[2], 'holder', ticket, 'until', text(now + ARGV[3] * 1000), 'fence', text(fence))
  redis.call('pexpire', KEYS[2], math.max(tonumber(ARGV[3]), tonumber(ARGV[4])))
  redis.call('zrem', KEYS[3], ticket)
  redis.call('zrem', KEYS[4], ticket)
  return {1, text(fence)}
end
if ARGV[6] ~= '0' then
  local last = redis.call('zrange', KEYS[3], -1, -1, 'withscores')[2]
  redis.call('zadd', KEYS[3], 'nx', text(tonumber(last or '0') + 1), ticket)
  redis.call('zadd', KEYS[4], text(now + ARGV[6] * 1000), ticket)
  redis.call('pexpire', KEYS[3], ARGV[6])
  redis.call('pexpire', KEYS[4], ARGV[6])
end
return {0, ''}
`;

/** ARGV: mark, ticket, lease ms, remembered ms, fence. Answers {1, ''} when the ticket holds the lock, else {0, ''}. */
export const RENEW = `${PRELUDE}
if not isHeld or holder ~= ticket then return {0, ''} end
fence = math.max(fence, tonumber(ARGV[5]))
redis.call('hset', KEYS[2], 'until', text(now + ARGV[3] * 1000), 'fence', text(fence))
redis.call('pexpire', KEYS[2], math.max(tonumber(ARGV[3]), tonumber(ARGV[4])))
return {1, ''}
`;

/** ARGV: mark, ticket, fence, channel, key. Tells the channel the key when somebody can have the lock now. */
export const RELEASE = `${PRELUDE}
redis.call('zrem', KEYS[3], ticket)
redis.call('zrem', KEYS[4], ticket)
if holder == ticket then
  redis.call('hdel', KEYS[2], 'holder', 'until')
  redis.call('hset', KEYS[2], 'fence', text(math.max(fence, tonumber(ARGV[3]))))
  isHeld = false
end
if not isHeld and first() then redis.call('publish', ARGV[4], ARGV[5]) end
return {1, ''}
`;
